import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../src/platform/config/config.ts";
import { SETTINGS } from "../../src/platform/config/settings.ts";
import { unknownSettings } from "../../src/platform/config/unknown-settings.ts";
import { StartupError } from "../../src/platform/startup-error.ts";

const key = () => randomBytes(32).toString("base64");

function refusal(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    expect(error).toBeInstanceOf(StartupError);
    return (error as Error).message;
  }
  throw new Error("the settings were taken");
}

describe("the settings", () => {
  it("are all named if several are wrong", () => {
    expect(refusal({ PORT: "x", SLIPROAD_MODE: "Live", SLIPROAD_CANARY_USD: "-5" })).toMatch(
      /^These settings are not valid:(\n- (PORT|SLIPROAD_MODE|SLIPROAD_CANARY_USD) .*\.){3}$/,
    );
  });

  it("have the documented defaults", () => {
    expect(readConfig({})).toMatchObject({
      mode: "sandbox",
      host: "127.0.0.1",
      port: 4000,
      public_url: undefined,
      data_dir: resolve(".sliproad"),
      database_url: undefined,
      rate_limit: 1000,
      rate_limit_anonymous: 20,
      trusted_proxies: [],
      api_key: undefined,
      encryption_key: undefined,
      kyc_enforcement: "execution",
      log_level: "info",
    });
  });

  it("accept the approval amount in usd to the cent, with no limit in sandbox by default", () => {
    const read = (text: string) =>
      readConfig({ SLIPROAD_APPROVAL_ABOVE_USD: text }).approval_above_usd;
    expect(["", "0", "2500.5", "10000"].map(read)).toEqual([undefined, 0n, 250_050n, 1_000_000n]);
    for (const SLIPROAD_APPROVAL_ABOVE_USD of ["-1", "1e3", "1.005", "all"]) {
      expect(refusal({ SLIPROAD_APPROVAL_ABOVE_USD })).toContain("must be an amount in usd");
    }
  });

  it("are read once and cannot be changed", () => {
    const config = readConfig({ PORT: "1" });
    expect(() => Object.assign(config, { port: 2 })).toThrow();
  });

  it("that are empty count as not set", () => {
    const names = Object.values(SETTINGS).map((setting) => [setting.name, ""]);
    expect(readConfig(Object.fromEntries(names))).toEqual(readConfig({}));
  });

  it.each([
    ["SLIPROAD_MODE", "production"],
    ["PORT", "-1"],
    ["PORT", "65536"],
    ["PORT", "http"],
    ["PORT", "1e3"],
    ["PORT", " 80"],
    ["SLIPROAD_PUBLIC_URL", "pay.example.com"],
    ["SLIPROAD_PUBLIC_URL", "ftp://pay.example.com"],
    ["SLIPROAD_PUBLIC_URL", "https://pay.example.com/?a=b"],
    ["DATABASE_URL", "mysql://localhost/x"],
    ["DATABASE_URL", "localhost"],
    ["SLIPROAD_DATABASE_CONNECTIONS", "3"],
    ["SLIPROAD_BATCH_BY", "row"],
    ["SLIPROAD_TRUSTED_PROXIES", "10.0.0.0/8, proxy"],
    ["SLIPROAD_TRUSTED_PROXIES", "10.0.0.0/33"],
    ["SLIPROAD_OUTBOUND_PROXY", "proxy.internal:3128"],
    ["SLIPROAD_OUTBOUND_PROXY", "socks5://proxy.internal"],
    ["SLIPROAD_TRUSTED_PROXIES", "10.0.0.0/8/8"],
    ["SLIPROAD_RATE_LIMIT", "many"],
    ["SLIPROAD_RATE_LIMIT", "1.5"],
    ["SLIPROAD_RATE_LIMIT_ANONYMOUS", "-1"],
    ["SLIPROAD_API_KEY", "short"],
    ["SLIPROAD_API_KEY", "with a space in the midst"],
    ["SLIPROAD_API_KEY", "x".repeat(256)],
    ["SLIPROAD_ADMIN_EMAIL", "nobody"],
    ["SLIPROAD_ADMIN_PASSWORD", "short"],
    ["SLIPROAD_ENCRYPTION_KEY", "c2hvcnQ="],
    ["SLIPROAD_ENCRYPTION_KEY", "ab".repeat(32)],
    ["SLIPROAD_ENCRYPTION_KEY", `!${Buffer.alloc(32, 1).toString("base64")}`],
    ["SLIPROAD_ENCRYPTION_KEY", Buffer.alloc(32).toString("base64")],
    ["SLIPROAD_SIGNING_KEY", Buffer.alloc(32, "abc").toString("base64")],
    ["SLIPROAD_ENCRYPTION_KEY_PREVIOUS", "x"],
    ["SLIPROAD_SIGNING_KEY", "x"],
    ["SLIPROAD_KYC_ENFORCEMENT", "never"],
    ["SLIPROAD_LOG_LEVEL", "loud"],
  ])("%s=%j is refused with one sentence that names it", (name, value) => {
    expect(refusal({ [name]: value })).toMatch(new RegExp(`^${name} must [^\\n]+\\.$`));
  });

  it("never repeat a secret in the error sentence", () => {
    for (const name of ["SLIPROAD_API_KEY", "SLIPROAD_ADMIN_PASSWORD", "SLIPROAD_ENCRYPTION_KEY"]) {
      expect(refusal({ [name]: "hush hush" })).not.toContain("hush");
    }
  });

  it("accept IPv4 and IPv6 addresses and networks as trusted proxies", () => {
    const config = readConfig({ SLIPROAD_TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.1,::1, fd00::/8" });
    expect(config.trusted_proxies).toEqual(["10.0.0.0/8", "192.0.2.1", "::1", "fd00::/8"]);
  });

  it("drop the slash at the end of SLIPROAD_PUBLIC_URL", () => {
    const { public_url } = readConfig({ SLIPROAD_PUBLIC_URL: "https://pay.example.com/ramp//" });
    expect(public_url).toBe("https://pay.example.com/ramp");
  });

  it("require the current encryption key besides the previous one", () => {
    const sentence = refusal({ SLIPROAD_ENCRYPTION_KEY_PREVIOUS: key() });
    expect(sentence).toMatch(
      /^SLIPROAD_ENCRYPTION_KEY_PREVIOUS is set without SLIPROAD_ENCRYPTION_KEY/,
    );
  });
});

describe("secrets from files", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "sliproad-config-"));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  const put = async (text: string): Promise<string> => {
    const file = join(directory, randomBytes(6).toString("hex"));
    await writeFile(file, text);
    return file;
  };
  const master = key();

  it.each<[string, string, keyof ReturnType<typeof readConfig>, unknown]>([
    ["DATABASE_URL", "postgres://a:b@db:5432/c", "database_url", "postgres://a:b@db:5432/c"],
    ["SLIPROAD_API_KEY", "k".repeat(20), "api_key", "k".repeat(20)],
    ["SLIPROAD_ADMIN_PASSWORD", "a long password", "admin_password", "a long password"],
    ["SLIPROAD_ENCRYPTION_KEY", master, "encryption_key", Buffer.from(master, "base64")],
    ["SLIPROAD_SIGNING_KEY", master, "signing_key", Buffer.from(master, "base64")],
    ["SLIPROAD_METRICS_TOKEN", "a-token", "metrics_token", "a-token"],
  ])("%s_FILE sets the same value as %s, without the newline at its end", async (...row) => {
    const [name, text, field, value] = row;
    for (const end of ["", "\n", "\r\n"]) {
      const config = readConfig({ [`${name}_FILE`]: await put(`${text}${end}`) });
      expect(config[field]).toEqual(value);
    }
  });

  it("drop one newline and keep other white space, which may belong to a password", async () => {
    const file = await put(" spaces around it \n\n");
    const config = readConfig({ SLIPROAD_ADMIN_PASSWORD_FILE: file });
    expect(config.admin_password).toBe(" spaces around it \n");
  });

  it("are refused with a sentence if both the variable and its file are set", async () => {
    const file = await put("a-token");
    const both = { SLIPROAD_METRICS_TOKEN: "a-token", SLIPROAD_METRICS_TOKEN_FILE: file };
    expect(refusal(both)).toBe(
      "SLIPROAD_METRICS_TOKEN and SLIPROAD_METRICS_TOKEN_FILE are both set; set only one of them.",
    );
    expect(readConfig({ ...both, SLIPROAD_METRICS_TOKEN: "" }).metrics_token).toBe("a-token");
  });

  it("are refused with a sentence that never contains the file's content", async () => {
    const ask = (file: string) => refusal({ SLIPROAD_ENCRYPTION_KEY_FILE: file });
    const missing = join(directory, "missing");
    expect(ask(missing)).toBe(
      `SLIPROAD_ENCRYPTION_KEY_FILE points to ${missing}, which cannot be read (ENOENT).`,
    );
    expect(ask(directory)).toContain("cannot be read (EISDIR)");
    expect(ask(await put("\n"))).toMatch(/which is empty\.$/);
    expect(ask(await put("x".repeat(65_537)))).toMatch(/which is larger than 65536 bytes\.$/);
    expect(ask(await put("hush"))).toBe("SLIPROAD_ENCRYPTION_KEY_FILE must be 32 bytes in base64.");
  });

  it("exist for secrets only", async () => {
    const file = await put("5000");
    expect(readConfig({ PORT_FILE: file, SLIPROAD_RATE_LIMIT_FILE: file })).toEqual(readConfig({}));
    expect(unknownSettings({ SLIPROAD_RATE_LIMIT_FILE: file })).toHaveLength(1);
    expect(unknownSettings({ SLIPROAD_SIGNING_KEY_FILE: file })).toEqual([]);
  });
});

describe("live mode", () => {
  const LIVE = {
    SLIPROAD_MODE: "live",
    SLIPROAD_PUBLIC_URL: "https://pay.example.com",
    SLIPROAD_ENCRYPTION_KEY: key(),
    SLIPROAD_SIGNING_KEY: key(),
  };

  it("starts with its keys and an https URL", () => {
    expect(readConfig(LIVE)).toMatchObject({ mode: "live", public_url: "https://pay.example.com" });
    expect(readConfig(LIVE).approval_above_usd).toBe(1_000_000n);
  });

  it.each(["SLIPROAD_PUBLIC_URL", "SLIPROAD_ENCRYPTION_KEY", "SLIPROAD_SIGNING_KEY"])(
    "is refused without %s",
    (name) => {
      expect(refusal({ ...LIVE, [name]: "" })).toMatch(new RegExp(`^${name} must .* live mode`));
    },
  );

  it("is refused with the same key for both purposes", () => {
    const sentence = refusal({ ...LIVE, SLIPROAD_SIGNING_KEY: LIVE.SLIPROAD_ENCRYPTION_KEY });
    expect(sentence).toMatch(/^SLIPROAD_SIGNING_KEY must not be SLIPROAD_ENCRYPTION_KEY .*\.$/);
  });

  it("is refused without a second factor of those who vote", () => {
    const sentence = refusal({ ...LIVE, SLIPROAD_SECOND_FACTOR: "optional" });
    expect(sentence).toBe("SLIPROAD_SECOND_FACTOR must be required or all in live mode.");
    const config = readConfig({ ...LIVE, SLIPROAD_SECOND_FACTOR: "all" });
    expect(config.second_factor).toBe("all");
  });

  it("is refused with an http URL", () => {
    const sentence = refusal({ ...LIVE, SLIPROAD_PUBLIC_URL: "http://pay.example.com" });
    expect(sentence).toBe("SLIPROAD_PUBLIC_URL must be an https URL in live mode.");
  });
});
