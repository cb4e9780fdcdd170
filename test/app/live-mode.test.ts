import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkLiveSettings, listLiveProblems } from "../../src/app/live-settings.ts";
import { examineLive } from "../../src/cli/doctor/live-checks.ts";
import { readConfig, readSettings } from "../../src/platform/config/config.ts";
import { type LiveHome, openLiveHome } from "../harness/live.ts";
import { addPaymentDetail, addQuote, addUser } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { good } from "../offramps/story.ts";
import { newHostKey, startSftpServer } from "../partners/bank/sftp-server.ts";

let home: LiveHome;
let server: TestServer;

beforeAll(async () => {
  home = await openLiveHome();
  const environment = { ...home.environment, SLIPROAD_KYC_ENFORCEMENT: "off" };
  server = await startTestServer({ environment });
});
afterAll(async () => {
  await server.close();
  await home.close();
});

const problemsWith = (change: Record<string, string>, parts = { worker: true }) =>
  listLiveProblems(readSettings({ ...home.environment, ...change }), parts);

describe("the settings of live mode", () => {
  it("are complete: it starts", () => {
    expect(problemsWith({})).toEqual([]);
    expect(readConfig(home.environment).mode).toBe("live");
  });

  it.each([
    ["SLIPROAD_PUBLIC_URL", /must be an https URL in live mode/],
    ["SLIPROAD_ENCRYPTION_KEY", /must be set in live mode: 32 random bytes/],
    ["SLIPROAD_SIGNING_KEY", /must be set in live mode: 32 random bytes/],
    ["SLIPROAD_ADMIN_EMAIL", /must be set in live mode/],
    ["SLIPROAD_SMTP_FROM", /must be set together/],
    ["SLIPROAD_RATES_FILE", /must be set in live mode: the built-in table is/],
    ["SLIPROAD_BANKS_FILE", /must be set in live mode/],
    ["SLIPROAD_CHAINS_FILE", /must be set in live mode/],
    ["SLIPROAD_SIGNER_FILE", /must be set in live mode/],
    ["SLIPROAD_RESTORE_CHECK_FILE", /must be set in live mode/],
    ["SLIPROAD_SIGNER_PASSPHRASE", /must be set with SLIPROAD_SIGNER_FILE/],
  ])("without %s one sentence names it", (name, sentence) => {
    const found = problemsWith({ [name]: "" });
    expect(found).toEqual([expect.stringMatching(sentence)]);
    expect(found[0]).toContain(name === "SLIPROAD_SIGNER_FILE" ? "SLIPROAD_SIGNER" : name);
    expect(found[0]).toMatch(/^SLIPROAD_.*\.$/);
  });

  it("are all named at once", () => {
    const config = readSettings({ SLIPROAD_MODE: "live" });
    let told = "";
    try {
      checkLiveSettings(config, { worker: true });
    } catch (error) {
      told = (error as Error).message;
    }
    const lines = told.split("\n");
    expect(lines[0]).toBe("Live mode does not start with these settings:");
    expect(lines.slice(1)).toHaveLength(10);
    for (const line of lines.slice(1)) expect(line).toMatch(/^- SLIPROAD_\w+ .*\.$/);
  });

  it("do not include a signer or a restore check where no worker runs", () => {
    const signer = { SLIPROAD_SIGNER_FILE: "", SLIPROAD_SIGNER_PASSPHRASE: "" };
    const without = { ...signer, SLIPROAD_RESTORE_CHECK_FILE: "" };
    expect(problemsWith(without, { worker: false })).toEqual([]);
  });

  it("need a chain that can send, so that every deposit can be refunded", async () => {
    const text = await readFile(home.environment.SLIPROAD_CHAINS_FILE!, "utf8");
    const file = JSON.parse(text);
    file.chains.polygon.sending = undefined;
    const path = join(home.chain.directory, "mute-chains.json");
    await writeFile(path, JSON.stringify(file));
    expect(problemsWith({ SLIPROAD_CHAINS_FILE: path })).toEqual([
      expect.stringContaining("chains.polygon.sending must be set in live mode"),
    ]);
  });

  it("need rates with their time", async () => {
    const path = join(home.chain.directory, "timeless.json");
    await writeFile(path, JSON.stringify({ rates: { eur: "0.86" } }));
    const found = problemsWith({ SLIPROAD_RATES_FILE: path });
    expect(found).toEqual([expect.stringMatching(/^SLIPROAD_RATES_FILE: .*as_of/)]);
  });
});

describe("sliproad doctor --live", () => {
  const examine = (change: Record<string, string> = {}) =>
    examineLive(readSettings({ ...home.environment, ...change }));
  const failed = async (change: Record<string, string>) =>
    (await examine(change)).filter(({ ok }) => !ok).map(({ check, finding }) => [check, finding]);

  it("finds settings, directories, nodes, contracts, keys and rates in order", async () => {
    const found = await examine();
    expect(found.filter(({ ok }) => !ok)).toEqual([]);
    const told = Object.fromEntries(found.map(({ check, finding }) => [check, finding]));
    expect(told["live settings"]).toBe("complete");
    expect(told.directories).toMatch(/bank-in, .*bank-out, .* can be written$/);
    expect(told["chain polygon"]).toBe(`chain id 31337, usdc ${home.chain.usdc.address}`);
    expect(told.signer).toMatch(/^signs as 0x[0-9a-f]{40}; its keys are in the worker/);
    expect(told["rates source"]).toMatch(/^\d+ rates, \d+ minutes old$/);
  });

  it("says what is missing, one sentence each", async () => {
    const found = await failed({ SLIPROAD_BANKS_FILE: "", SLIPROAD_SMTP_FROM: "" });
    expect(found).toEqual([
      ["live settings", expect.stringContaining("SLIPROAD_SMTP_URL")],
      ["live settings", expect.stringContaining("SLIPROAD_BANKS_FILE")],
    ]);
  });

  it("names a node of another chain, a contract with other decimals, and old rates", async () => {
    const path = join(home.chain.directory, "wrong-chains.json");
    const file = JSON.parse(await readFile(home.environment.SLIPROAD_CHAINS_FILE!, "utf8"));
    const write = async (change: object) => {
      const polygon = { ...file.chains.polygon, ...change };
      await writeFile(path, JSON.stringify({ ...file, chains: { polygon } }));
      return failed({ SLIPROAD_CHAINS_FILE: path });
    };
    expect(await write({ chain_id: 137 })).toEqual([
      ["chain polygon", expect.stringContaining("is a node of chain 31337")],
    ]);
    const usdc = { ...file.chains.polygon.tokens.usdc, decimals: 18 };
    expect(await write({ tokens: { usdc } })).toEqual([
      ["chain polygon", expect.stringContaining("has 6 decimals")],
    ]);
    const rates = join(home.chain.directory, "old-rates.json");
    await writeFile(
      rates,
      JSON.stringify({ as_of: "2026-01-05T09:00:00Z", rates: { eur: "0.9" } }),
    );
    expect(await failed({ SLIPROAD_RATES_FILE: rates })).toEqual([
      ["rates source", expect.stringMatching(/are \d+ minutes old; the maximum is 5760 minutes$/)],
    ]);
  });

  it("warns of a node that is asked without TLS", async () => {
    const path = join(home.chain.directory, "open-chains.json");
    const text = await readFile(home.environment.SLIPROAD_CHAINS_FILE!, "utf8");
    // The same node by a name that is not only this machine's.
    await writeFile(path, text.replaceAll("//127.0.0.1:", "//0.0.0.0:"));
    const found = await examine({ SLIPROAD_CHAINS_FILE: path });
    expect(found.filter(({ check }) => check === "nodes")).toMatchObject([
      { ok: true, warning: true, finding: expect.stringMatching(/^0\.0\.0\.0:\d+: asked without/) },
    ]);
    expect((await examine()).some(({ check }) => check === "nodes")).toBe(false);
  });

  it("warns of a chain whose gas nobody pays for", async () => {
    const fees = async (change: Record<string, string> = {}) =>
      (await examine(change)).filter(({ check }) => check === "network fees");
    const finding = expect.stringMatching(/^polygon: network_fees .* is 0/);
    expect(await fees()).toMatchObject([{ ok: true, warning: true, finding }]);
    const path = join(home.chain.directory, "catalogue.json");
    await writeFile(path, JSON.stringify({ network_fees: { polygon: "0.05" } }));
    expect(await fees({ SLIPROAD_CATALOGUE_FILE: path })).toEqual([]);
  });

  it("warns of a rate that may move by more than fee and spread", async () => {
    const slippage = async (change: Record<string, string> = {}) =>
      (await examine(change)).filter(({ check }) => check === "rate slippage");
    const finding = expect.stringMatching(/^SLIPROAD_RATE_SLIPPAGE_BASIS_POINTS is 50, .* are 40:/);
    expect(await slippage()).toMatchObject([{ ok: true, warning: true, finding }]);
    expect(await slippage({ SLIPROAD_RATE_SLIPPAGE_BASIS_POINTS: "40" })).toEqual([]);
    const path = join(home.chain.directory, "risk.json");
    const withSpread = async (spread_basis_points: object) => {
      await writeFile(path, JSON.stringify({ spread_basis_points }));
      return slippage({ SLIPROAD_MARKET_RISK_FILE: path });
    };
    expect(await withSpread({ default: 10 })).toEqual([]);
    expect(await withSpread({ default: 10, eur: 9 })).toHaveLength(1);
  });

  it("signs in to the SFTP server of a bank, whose key must be known", async () => {
    const { directory } = home.chain;
    const host_key = newHostKey();
    const sftp = await startSftpServer(directory, host_key.pem, "s3cret");
    const file = JSON.parse(await readFile(home.environment.SLIPROAD_BANKS_FILE!, "utf8"));
    const [known_hosts_file, password_file] = ["known", "password"].map((one) =>
      join(directory, one),
    );
    const server = { host: "127.0.0.1", port: sftp.port, user: "ramp" };
    const servers = { bank: { ...server, password_file, known_hosts_file } };
    const account = { ...file.accounts["main-eur"], server: "bank", outbox: "/" };
    const path = join(directory, "sftp-banks.json");
    await writeFile(path, JSON.stringify({ ...file, servers, accounts: { "main-eur": account } }));
    await writeFile(password_file!, "s3cret");
    const knows = (line: string) =>
      writeFile(known_hosts_file!, `[127.0.0.1]:${sftp.port} ${line}\n`);
    await knows(host_key.line);
    const found = await examine({ SLIPROAD_BANKS_FILE: path });
    expect(found).toContainEqual({
      ...{ check: "sftp 127.0.0.1", ok: true, finding: "/ can be read as ramp" },
    });
    await knows(newHostKey().line);
    expect(await failed({ SLIPROAD_BANKS_FILE: path })).toEqual([
      ["sftp 127.0.0.1", expect.stringContaining("its key is another one than")],
    ]);
    await sftp.close();
  });

  it("names a signer with other keys, and a wrong passphrase", async () => {
    expect(await failed({ SLIPROAD_SIGNER_PASSPHRASE: "another passphrase" })).toEqual([
      ["signer", expect.stringContaining("SLIPROAD_SIGNER_FILE: ")],
    ]);
    const path = join(home.chain.directory, "other-treasury.json");
    const file = JSON.parse(await readFile(home.environment.SLIPROAD_CHAINS_FILE!, "utf8"));
    await writeFile(path, JSON.stringify({ ...file, treasury: `0x${"11".repeat(20)}` }));
    expect(await failed({ SLIPROAD_CHAINS_FILE: path })).toEqual([
      ["signer", expect.stringContaining("but the chains file has 0x1111")],
    ]);
  });
});

describe("what the sandbox accepts, and live mode refuses", () => {
  it("documents and webhooks by http, and transfers on another network", async () => {
    const user_id = await addUser(server);
    const quote_id = await addQuote(server, user_id);
    const fieldsOf = async (path: string, body: object) => {
      const { status, body: answer } = await server.call("POST", path, body);
      expect(status).toBe(422);
      return answer.errors.map(({ field, code }: Record<string, string>) => [field, code]);
    };
    const submitted_url = "http://documents.example/invoice.pdf";
    const item = {
      payment_detail_id: await addPaymentDetail(server, user_id, "eur"),
      ...{ destination_amount: 100, destination_currency: "eur" },
      supporting_document_attributes: { submitted_url },
    };
    const quote_path = `/users/${user_id}/quotes/${quote_id}`;
    expect(await fieldsOf(`${quote_path}/offramps`, { offramps: [item] })).toEqual([
      ["offramps[0].supporting_document_attributes.submitted_url", "record_invalid"],
    ]);
    const app = { name: "Receiver", webhook_url: "http://receiver.example/hook" };
    expect(await fieldsOf("/apps", { app })).toEqual([["app.webhook_url", "record_invalid"]]);
    const tx_id = `0x${"ab".repeat(32)}`;
    const crypto_transfer = { tx_id, blockchain: "polygon", network: "mainnet" };
    expect(await fieldsOf(`${quote_path}/execute`, { quote: { crypto_transfer } })).toContainEqual([
      "quote.crypto_transfer.network",
      "record_invalid",
    ]);
  });
});

describe("what no adapter serves is not offered", () => {
  it("by GET /fees and GET /payment_detail_requirements", async () => {
    const { fees, onramp_fees } = good(await server.call("GET", "/fees"));
    type Row = { currency: string; rails: string };
    const pairs = (rows: Row[]) => rows.map(({ currency, rails }) => `${currency} ${rails}`);
    expect(pairs(fees)).toEqual(["eur local", "eur swift", "jpy swift", "usd local"]);
    expect(pairs(onramp_fees)).toEqual(["eur local"]);
    const { payment_detail_requirements: rows } = good(
      await server.call("GET", "/payment_detail_requirements"),
    );
    expect(new Set(pairs(rows))).toEqual(
      new Set(["eur local", "eur swift", "jpy swift", "usd local"]),
    );
  });

  it("for payment details", async () => {
    const user_id = await addUser(server);
    await addPaymentDetail(server, user_id, "eur");
    await addPaymentDetail(server, user_id, "jpy");
    await expect(addPaymentDetail(server, user_id, "mxn")).rejects.toThrow(
      "currency_not_supported",
    );
    await expect(addPaymentDetail(server, user_id, "usd_swift")).rejects.toThrow(
      "rails_not_available",
    );
  });

  it("for quotes and their prices: neither other chains nor other tokens", async () => {
    const user_id = await addUser(server);
    await addQuote(server, user_id);
    const refused = (terms: object, message: string) =>
      expect(addQuote(server, user_id, terms)).rejects.toThrow(message);
    await refused({ deposit_token_chain: "tron" }, "Send one of polygon.");
    await refused({ deposit_token: "usdt" }, "Send one of usdc.");
    const price = (change: object) =>
      server.call("POST", `/users/${user_id}/quote/rate`, {
        quote: {
          ...{ deposit_token: "usdc", deposit_token_chain: "polygon", fiat_currency: "eur" },
          ...{ fiat_amount: 1000, ...change },
        },
      });
    good(await price({}));
    expect((await price({ deposit_token: "usdt" })).body.message).toContain("Send one of usdc.");
    expect((await price({ fiat_currency: "mxn" })).body.error_code).toBe("currency_not_supported");
    const convert = (input_currency: string, output_currency: string) =>
      server.call("POST", "/conversions", {
        conversion: { input_currency, output_currency, mode: "sending", input_amount: 100 },
      });
    good(await convert("usdc", "eur"));
    good(await convert("eur", "usdc"));
    for (const [from, to] of [
      ["usdt", "eur"],
      ["usd", "usdc"],
      ["eur", "usdt"],
    ] as const) {
      expect((await convert(from, to)).body.error_code).toBe("currency_not_supported");
    }
  });

  it("for onramps and refunds", async () => {
    const user_id = await addUser(server);
    const address = `0x${"9a".repeat(20)}`;
    const create = (change: object) =>
      server.call("POST", `/users/${user_id}/onramps`, {
        onramp: {
          ...{ destination_amount: 10, crypto_currency: "usdc", crypto_rails: "polygon" },
          ...{ destination_address: address, fiat_currency: "eur", fiat_rails: "local" },
          ...change,
        },
      });
    good(await create({}));
    for (const [change, code] of [
      [{ crypto_currency: "usdt" }, "currency_not_supported"],
      [{ crypto_rails: "base" }, "rails_not_available"],
      [{ fiat_currency: "usd", fiat_rails: "wire" }, "currency_not_supported"],
    ] as const) {
      expect((await create(change)).body.error_code).toBe(code);
    }
    const refund_address = { chain: "base", address };
    const path = `/users/${user_id}/refund_addresses`;
    expect((await server.call("POST", path, { refund_address })).status).toBe(422);
  });

  it("in the documentation, which has no route of the sandbox either", async () => {
    const page = async (path: string) => (await server.call("GET", path, undefined)).text;
    const fees = await page("/docs/reference/fees");
    expect(fees).toContain("<code>jpy</code>");
    expect(fees).not.toContain("<code>mxn</code>");
    const details = await page("/docs/reference/payment-details");
    expect(details).toContain("eur local");
    expect(details).not.toContain("mxn local");
    const { paths } = (await server.call("GET", "/openapi.json")).body;
    expect(Object.keys(paths).filter((path) => path.startsWith("/sandbox"))).toEqual([]);
  });

  it("and the sandbox's routes do not exist", async () => {
    for (const path of ["/sandbox/clock", "/sandbox/deposits", "/dashboard/outbox"]) {
      expect((await server.call("GET", path)).status).toBe(404);
    }
    const advance = await server.call("POST", "/sandbox/clock", { advance_ms: 1 });
    expect(advance.body.error_code).toBe("route_not_found");
  });
});
