import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createHttpJson, parseReferenceRates } from "../../src/partners/rates/http-json.ts";
import { openRateSource, openTokenRateSource } from "../../src/partners/rates/open-rate-source.ts";
import {
  createShippedTable,
  openRateFile,
  parseRateFile,
} from "../../src/partners/rates/table-file.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { StartupError } from "../../src/platform/startup-error.ts";
import { describeRateSource } from "./rate-source-suite.ts";

const DAILY = JSON.stringify({
  base: "EUR",
  date: "2026-11-13",
  rates: { USD: 1.1626, GBP: 0.8731, JPY: 177.92, XAU: 0.0004, IDR: 19352.5 },
});

const HTTP = { max_age_ms: 1, every_ms: 60_000, parse: parseReferenceRates };

let dir: string;
let server: Server;
let url: string;
let answer: RequestListener;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "sliproad-rates-"));
  server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/latest`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(dir, { recursive: true });
});

const serveText = (text: string, status = 200): void => {
  answer = (_request, response) => void response.writeHead(status).end(text);
};

async function writeRates(name: string, content: unknown): Promise<string> {
  const path = join(dir, name);
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

describeRateSource("the built-in table", async () => createShippedTable());

describeRateSource("a file", async () => {
  const rates = { eur: "0.86", jpy: 153, gbp: "0.750" };
  const path = await writeRates("rates.json", { as_of: "2026-11-13T15:00:00Z", rates });
  return openRateFile({ path, max_age_ms: 1, parse: (text) => parseRateFile(text, true) });
});

describeRateSource("JSON over HTTP", async () => {
  serveText(DAILY);
  return createHttpJson({ ...HTTP, url });
});

describe("the operator's file", () => {
  it("is read again at every reading", async () => {
    const path = await writeRates("again.json", { rates: { eur: "0.86" } });
    const source = openRateFile({
      path,
      max_age_ms: 1,
      parse: (text) => parseRateFile(text, false),
    });
    expect(await source.read()).toEqual({ as_of: null, rates: { eur: "0.86", usd: "1" } });
    await writeRates("again.json", { as_of: "2026-11-14", rates: { eur: "0.87", usd: "0.999" } });
    expect(await source.read()).toEqual({
      as_of: new Date("2026-11-14T00:00:00Z"),
      rates: { eur: "0.87", usd: "0.999" },
    });
    await writeRates("again.json", "{");
    await expect(source.read()).rejects.toThrow("the file must be well-formed JSON");
  });

  it("keeps every digit of a number", () => {
    const { rates } = parseRateFile('{"rates":{"eur":0.860141063134,"idr":1.6e4}}', false);
    expect(rates).toEqual({ eur: "0.860141063134", idr: "16000", usd: "1" });
  });

  it.each([
    ["[]", "the file must be an object"],
    ['{"rates":{},"date":"2026-11-13"}', "has the unknown key date"],
    ["{}", "rates must be an object"],
    ['{"rates":{"eur":"0"}}', "rates.eur must be a decimal above zero"],
    ['{"rates":{"eur":-1}}', "rates.eur must be a decimal above zero"],
    ['{"rates":{"eur":"0.8601410631340"}}', null],
    ['{"rates":{"eur":"0.8601410631341"}}', "at most 12 significant digits"],
    ['{"rates":{"eur":1e999999999}}', "rates.eur must be a decimal above zero"],
    ['{"rates":{"eur":null}}', "rates.eur must be a decimal above zero"],
    ['{"rates":{"EUR":"1"}}', "rates.EUR must be a lowercase ISO 4217 code"],
    ['{"as_of":"yesterday","rates":{}}', "as_of must be a time"],
    ['{"as_of":"2026-13-01","rates":{}}', "as_of must be a time"],
    ['{"as_of":"2026-11-13T10:00","rates":{}}', "as_of must be a time"],
  ])("%s", (text, sentence) => {
    if (sentence === null) expect(() => parseRateFile(text, false)).not.toThrow();
    else expect(() => parseRateFile(text, false)).toThrow(sentence);
  });

  it("must contain its time if that is required", () => {
    expect(() => parseRateFile('{"rates":{}}', true)).toThrow("as_of must be a time");
  });
});

describe("reference rates over HTTP", () => {
  it("are rebased from eur to usd, with 12 digits, without unknown currencies", async () => {
    serveText(DAILY);
    expect(await createHttpJson({ ...HTTP, url }).read()).toEqual({
      as_of: new Date("2026-11-13T00:00:00Z"),
      rates: {
        eur: "0.860141063134",
        usd: "1",
        gbp: "0.750989162222",
        jpy: "153.036297952",
        idr: "16645.8799243",
      },
    });
  });

  it("in usd are used unchanged, with their own time", () => {
    const text = '{"base":"usd","as_of":"2026-11-13T15:04:05Z","rates":{"EUR":0.86,"USD":1}}';
    expect(parseReferenceRates(text)).toEqual({
      as_of: new Date("2026-11-13T15:04:05Z"),
      rates: { usd: "1", eur: "0.86" },
    });
  });

  it.each([
    ["nonsense", "well-formed JSON"],
    ["null", "must be an object"],
    ['{"base":"CHF","date":"2026-11-13","rates":{"USD":1}}', "base must be EUR or USD"],
    ['{"base":"EUR","rates":{"USD":1}}', "date or as_of"],
    ['{"base":"EUR","date":"2026-11-13","rates":{"GBP":1}}', "rates must have USD"],
    ['{"base":"EUR","date":"2026-11-13","rates":{"USD":0}}', "rates.USD must be a number above"],
    ['{"base":"EUR","date":"2026-11-13","rates":null}', "rates must be an object"],
  ])("%s is refused", (text, sentence) => {
    expect(() => parseReferenceRates(text)).toThrow(sentence);
  });

  it("fail if the answer is not a success", async () => {
    serveText(DAILY, 500);
    await expect(createHttpJson({ ...HTTP, url }).read()).rejects.toThrow("answered 500");
  });

  it("fail if the body is too large", async () => {
    serveText(`${" ".repeat(5_000)}${DAILY}`);
    const source = createHttpJson({ ...HTTP, url, bytes_max: 4_000 });
    await expect(source.read()).rejects.toThrow("more than 4000 bytes");
  });

  it("fail if the body does not end in time", async () => {
    answer = (_request, response) => void response.writeHead(200).write(DAILY.slice(0, 10));
    await expect(createHttpJson({ ...HTTP, url, timeout_ms: 100 }).read()).rejects.toThrow(/time/i);
  });

  it("are named without the query, which may contain a key", () => {
    expect(createHttpJson({ ...HTTP, url: "https://rates.test/v1/latest?key=secret" }).name).toBe(
      "https://rates.test/v1/latest",
    );
  });
});

describe("the settings", () => {
  const settings = (environment: Record<string, string>) => {
    const { mode: _mode, ...settings } = readConfig(environment);
    return settings;
  };

  it("choose the built-in table in sandbox, which live mode refuses", () => {
    expect(openRateSource({ mode: "sandbox", ...settings({}) }).name).toBe("built-in table");
    expect(() => openRateSource({ mode: "live", ...settings({}) })).toThrow(StartupError);
  });

  it("stop the start if they are invalid", async () => {
    const path = await writeRates("undated.json", { rates: { eur: "0.86" } });
    const cases: ["sandbox" | "live", Record<string, string>, string][] = [
      ["sandbox", { SLIPROAD_RATES_FILE: path, SLIPROAD_RATES_URL: url }, "not both"],
      ["sandbox", { SLIPROAD_RATES_URL: "ftp://x.test" }, "must be an http or https URL"],
      ["live", { SLIPROAD_RATES_URL: "http://rates.test" }, "must be an https URL in live"],
      ["live", { SLIPROAD_RATES_FILE: path }, "as_of must be a time"],
      ["sandbox", { SLIPROAD_RATES_FILE: join(dir, "none.json") }, "SLIPROAD_RATES_FILE: ENOENT"],
    ];
    for (const [mode, environment, sentence] of cases) {
      const open = () => openRateSource({ mode, ...settings(environment) });
      expect(open).toThrow(StartupError);
      expect(open).toThrow(sentence);
    }
  });

  it("open the source that they name", async () => {
    const path = await writeRates("named.json", { rates: { eur: "0.86" } });
    const file = openRateSource({ mode: "sandbox", ...settings({ SLIPROAD_RATES_FILE: path }) });
    expect(file.name).toBe("file");
    const http = openRateSource({ mode: "live", ...settings({ SLIPROAD_RATES_URL: url }) });
    expect(http.name).toBe(url);
    const age = settings({ SLIPROAD_RATES_FILE: path, SLIPROAD_RATES_MAX_AGE_MINUTES: "2" });
    expect(openRateSource({ mode: "sandbox", ...age }).max_age_ms).toBe(120_000);
  });

  it("open a source of token rates only if they name one, with its own maximum age", async () => {
    expect(openTokenRateSource({ mode: "sandbox", ...settings({}) })).toBeNull();
    const path = await writeRates("tokens.json", { rates: { usdc: "0.9998" } });
    const file = settings({ SLIPROAD_TOKEN_RATES_FILE: path });
    const source = openTokenRateSource({ mode: "sandbox", ...file })!;
    expect(source.max_age_ms).toBe(3_600_000);
    expect(await source.read()).toEqual({ as_of: null, rates: { usdc: "0.9998" } });
    const open = () => openTokenRateSource({ mode: "live", ...file });
    expect(open).toThrow("SLIPROAD_TOKEN_RATES_FILE: The rates file is invalid: as_of must be");
    const eur = await writeRates("eur.json", { rates: { eur: "0.86" } });
    const wrong = settings({ SLIPROAD_TOKEN_RATES_FILE: eur });
    expect(() => openTokenRateSource({ mode: "sandbox", ...wrong })).toThrow(
      "rates.eur must be one of usdc, usdt",
    );
    serveText('{"as_of":"2026-11-15T11:59:00Z","rates":{"usdt":1.0002}}');
    const http = settings({ SLIPROAD_TOKEN_RATES_URL: url });
    expect(await openTokenRateSource({ mode: "live", ...http })!.read()).toEqual({
      as_of: new Date("2026-11-15T11:59:00Z"),
      rates: { usdt: "1.0002" },
    });
  });
});
