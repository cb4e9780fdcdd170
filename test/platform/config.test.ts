import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/platform/config/config.ts";
import { SETTINGS } from "../../src/platform/config/settings.ts";
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

  it("take an amount for four eyes in usd to the cent, with no limit in sandbox by default", () => {
    const read = (text: string) => readConfig({ SLIPROAD_FOUR_EYES_USD: text }).four_eyes_usd;
    expect(["", "0", "2500.5", "10000"].map(read)).toEqual([undefined, 0n, 250_050n, 1_000_000n]);
    for (const SLIPROAD_FOUR_EYES_USD of ["-1", "1e3", "1.005", "all"]) {
      expect(refusal({ SLIPROAD_FOUR_EYES_USD })).toContain("must be an amount in usd");
    }
  });

  it("are read once: what they become cannot be changed", () => {
    const config = readConfig({ PORT: "1" });
    expect(() => Object.assign(config, { port: 2 })).toThrow();
  });

  it("that are empty are as if they were not set", () => {
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
    ["SLIPROAD_ENCRYPTION_KEY_PREVIOUS", "x"],
    ["SLIPROAD_SIGNING_KEY", "x"],
    ["SLIPROAD_KYC_ENFORCEMENT", "never"],
    ["SLIPROAD_LOG_LEVEL", "loud"],
  ])("%s=%j is refused with one sentence that names it", (name, value) => {
    expect(refusal({ [name]: value })).toMatch(new RegExp(`^${name} must [^\\n]+\\.$`));
  });

  it("never repeat a secret in the sentence", () => {
    for (const name of ["SLIPROAD_API_KEY", "SLIPROAD_ADMIN_PASSWORD", "SLIPROAD_ENCRYPTION_KEY"]) {
      expect(refusal({ [name]: "hush hush" })).not.toContain("hush");
    }
  });

  it("take addresses and networks of both kinds as trusted proxies", () => {
    const config = readConfig({ SLIPROAD_TRUSTED_PROXIES: "10.0.0.0/8, 192.0.2.1,::1, fd00::/8" });
    expect(config.trusted_proxies).toEqual(["10.0.0.0/8", "192.0.2.1", "::1", "fd00::/8"]);
  });

  it("lose the slash at the end of SLIPROAD_PUBLIC_URL", () => {
    const { public_url } = readConfig({ SLIPROAD_PUBLIC_URL: "https://pay.example.com/ramp//" });
    expect(public_url).toBe("https://pay.example.com/ramp");
  });

  it("want the present encryption key beside the previous one", () => {
    const sentence = refusal({ SLIPROAD_ENCRYPTION_KEY_PREVIOUS: key() });
    expect(sentence).toMatch(/^SLIPROAD_ENCRYPTION_KEY_PREVIOUS needs SLIPROAD_ENCRYPTION_KEY/);
  });
});

describe("live mode", () => {
  const LIVE = {
    SLIPROAD_MODE: "live",
    SLIPROAD_PUBLIC_URL: "https://pay.example.com",
    SLIPROAD_ENCRYPTION_KEY: key(),
    SLIPROAD_SIGNING_KEY: key(),
  };

  it("starts with its keys and an https address", () => {
    expect(readConfig(LIVE)).toMatchObject({ mode: "live", public_url: "https://pay.example.com" });
    expect(readConfig(LIVE).four_eyes_usd).toBe(1_000_000n);
  });

  it.each(["SLIPROAD_PUBLIC_URL", "SLIPROAD_ENCRYPTION_KEY", "SLIPROAD_SIGNING_KEY"])(
    "is refused without %s",
    (name) => {
      expect(refusal({ ...LIVE, [name]: "" })).toMatch(new RegExp(`^${name} must .* live mode`));
    },
  );

  it("is refused with an http address", () => {
    const sentence = refusal({ ...LIVE, SLIPROAD_PUBLIC_URL: "http://pay.example.com" });
    expect(sentence).toBe("SLIPROAD_PUBLIC_URL must be an https address in live mode.");
  });
});
