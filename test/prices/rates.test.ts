import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { loadCatalogue } from "../../src/catalogue/catalogue.ts";
import { loadFees } from "../../src/catalogue/fee-table.ts";
import { loadMarketRisk } from "../../src/catalogue/market-risk.ts";
import type { RateReading, RateSource } from "../../src/partners/rates/port.ts";
import { createShippedTable } from "../../src/partners/rates/table-file.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { formatDecimal } from "../../src/platform/money.ts";
import { ensureRecurring } from "../../src/platform/tasks/tasks.ts";
import { confirmHeldRate } from "../../src/prices/confirm-held-rate.ts";
import { openPriceBook, type PriceBook, type Prices } from "../../src/prices/price-book.ts";
import { checkRates, type RateCheck } from "../../src/prices/rate-checks.ts";
import { listRateChecks } from "../../src/prices/store.ts";
import { REFRESH_RATES_TASK, refreshRatesTask } from "../../src/prices/tasks.ts";
import { openTaskFixture, SILENT, type TaskFixture } from "../harness/task-fixture.ts";
import { waitFor } from "../harness/wait-for.ts";

const NOW = new Date("2026-11-15T12:00:00Z");
const BY = { actor: "command line", reason: "checked with the bank" } as const;

let fixture: TaskFixture;
beforeAll(async () => {
  fixture = await openTaskFixture();
});
afterAll(async () => {
  await fixture.clear();
  await fixture.drop();
});
beforeEach(async () => {
  await fixture.clear();
  await fixture.database.query("truncate price_versions, rate_checks, audit_entries cascade");
});

/** A source that returns what the test sets. */
type Script = { reading: RateReading | Error; source: RateSource };

function script(rates: Record<string, string>, as_of: Date | null = NOW): Script {
  const made: Script = {
    reading: { as_of, rates: { usd: "1", ...rates } },
    source: {
      name: "script",
      every_ms: HOUR_MS,
      max_age_ms: 72 * HOUR_MS,
      read: async () => {
        if (made.reading instanceof Error) throw made.reading;
        return made.reading;
      },
    },
  };
  return made;
}

type Extra = { fees?: string; risk?: string; tokens?: RateSource; now?: Date; log?: object };

function open(source: RateSource, extra: Extra = {}) {
  const deps = {
    database: fixture.database,
    catalogue: loadCatalogue(),
    source,
    token_source: extra.tokens ?? null,
    fees: loadFees(extra.fees),
    risk: loadMarketRisk(extra.risk),
    log: { ...SILENT, ...extra.log },
  };
  return openPriceBook(deps, extra.now ?? NOW);
}

async function current(book: PriceBook, now = NOW): Promise<Prices> {
  const prices = await book.currentPrices(now);
  if ("stale" in prices) throw new Error("the prices are stale");
  return prices;
}

async function rateOf(book: PriceBook, currency: string, token = "usdc") {
  const rate = (await current(book)).rates.get(token)!.get(currency);
  return rate && formatDecimal(rate);
}

const countVersions = async () =>
  (await fixture.database.query("select id from price_versions")).length;

const set = (made: Script, rates: Record<string, string>, as_of: Date | null = NOW) => {
  made.reading = { as_of, rates: { usd: "1", ...rates } };
};

describe("a spread", () => {
  it("makes the rate of offramps worse for the customer, and that of onramps too", async () => {
    const risk = '{"spread_basis_points":{"default":10,"eur":25,"usd":0}}';
    const book = await open(script({ eur: "0.860141063134", jpy: "153" }).source, { risk });
    const prices = await current(book);
    const rate = (table: Prices["rates"], code: string) =>
      formatDecimal(table.get("usdc")!.get(code)!);
    // 0.860141063134 × 0.9975 = 0.857990710476165: twelve digits, rounded down.
    expect(rate(prices.rates, "eur")).toBe("0.857990710476");
    // 0.860141063134 × 1.0025 = 0.862291415791835: rounded up.
    expect(rate(prices.onramp_rates, "eur")).toBe("0.862291415792");
    expect([rate(prices.rates, "jpy"), rate(prices.onramp_rates, "jpy")]).toEqual([
      "152.847",
      "153.153",
    ]);
    expect([rate(prices.rates, "usd"), rate(prices.onramp_rates, "usd")]).toEqual(["1", "1"]);
  });

  it("stays as it was for earlier versions", async () => {
    const made = script({ eur: "0.8" });
    const before = await current(await open(made.source));
    const risk = '{"spread_basis_points":{"eur":100}}';
    const book = await open(made.source, { risk });
    expect(await rateOf(book, "eur")).toBe("0.792");
    const found = (await book.find(fixture.database, [before.version_id])).get(before.version_id);
    expect(formatDecimal(found!.rates.get("usdc")!.get("eur")!)).toBe("0.8");
  });

  it("or a maximum that cannot be right stops the start with the field", () => {
    const cases = [
      ['{"spread_basis_points":{"eur":-1}}', "spread_basis_points.eur must be a whole number"],
      ['{"spread_basis_points":{"EUR":1}}', "spread_basis_points.EUR must be a lowercase"],
      ['{"exposure_max_usd":{"eur":5}}', "exposure_max_usd.eur must be an amount as text"],
      ['{"spread":{}}', "has the unknown key spread"],
    ] as const;
    for (const [text, sentence] of cases) expect(() => loadMarketRisk(text)).toThrow(sentence);
  });
});

describe("a token's own rate", () => {
  it("replaces one usd, for that token only", async () => {
    const tokens = script({}).source;
    const read = async () => ({ as_of: NOW, rates: { usdc: "1", usdt: "0.9971" } });
    const book = await open(script({ eur: "0.86" }).source, { tokens: { ...tokens, read } });
    expect([await rateOf(book, "usd", "usdt"), await rateOf(book, "eur", "usdt")]).toEqual([
      "0.9971",
      "0.857506",
    ]);
    expect([await rateOf(book, "usd"), await rateOf(book, "eur")]).toEqual(["1", "0.86"]);
  });

  it("that its source no longer gives is not one usd again", async () => {
    const tokens = { ...script({}).source, name: "tokens" };
    let rates: Record<string, string> = { usdc: "0.955", usdt: "1" };
    tokens.read = async () => ({ as_of: NOW, rates });
    const book = await open(script({ eur: "0.86" }).source, { tokens });
    expect(await rateOf(book, "usd")).toBe("0.955");
    rates = { usdt: "1" };
    await book.refresh(NOW);
    expect((await current(book)).rates.get("usdc")!.size).toBe(0);
    expect(await rateOf(book, "eur", "usdt")).toBe("0.86");
  });

  it("has its own maximum age", async () => {
    const tokens = {
      ...script({}).source,
      name: "tokens",
      max_age_ms: HOUR_MS,
      read: async () => ({ as_of: NOW, rates: { usdt: "1" } }),
    };
    const book = await open(script({ eur: "0.86" }).source, { tokens });
    const at = (ms: number) => book.currentPrices(new Date(NOW.getTime() + ms));
    expect(await at(HOUR_MS)).toMatchObject({ as_of: NOW });
    expect(await at(HOUR_MS + 1)).toEqual({ stale: true });
  });

  it("that differs too much is held, and the token is not quoted meanwhile", async () => {
    const tokens = { ...script({}).source, name: "tokens" };
    let usdt = "1";
    tokens.read = async () => ({ as_of: NOW, rates: { usdc: "1", usdt } });
    const book = await open(script({ eur: "0.86" }).source, { tokens });
    usdt = "0.9";
    await book.refresh(NOW);
    expect((await current(book)).rates.get("usdt")!.size).toBe(0);
    expect(await rateOf(book, "eur", "usdc")).toBe("0.86");
  });
});

describe("the version of prices", () => {
  it("has the rates for both tokens and the fees, without currencies that are not paid out", async () => {
    const book = await open(script({ eur: "0.86", jpy: "153", bhd: "0.377" }).source);
    const prices = await current(book);
    expect([...prices.rates.keys()]).toEqual(["usdc", "usdt"]);
    expect([...prices.rates.get("usdt")!.keys()].sort()).toEqual(["eur", "jpy", "usd"]);
    expect(await rateOf(book, "eur", "usdt")).toBe("0.86");
    expect(prices.fees.swift).toEqual({ basis_points: 40, flat_usd: { units: 49n, scale: 0 } });
  });

  it("is reused while nothing changes, also by another process", async () => {
    const made = script({ eur: "0.86" });
    const one = await open(made.source);
    const first = await current(one);
    await one.refresh(NOW);
    const other = await open(made.source);
    expect((await current(other)).version_id).toBe(first.version_id);
    expect(await countVersions()).toBe(1);
  });

  it("is new for other rates, other fees, or rates of another time", async () => {
    const made = script({ eur: "0.86" });
    const book = await open(made.source);
    const ids = [(await current(book)).version_id];
    set(made, { eur: "0.87" });
    await book.refresh(NOW);
    ids.push((await current(book)).version_id);
    set(made, { eur: "0.87" }, new Date(NOW.getTime() + 1));
    await book.refresh(NOW);
    ids.push((await current(book)).version_id);
    const cheaper = await open(made.source, { fees: '{"local":{"basis_points":1}}' });
    ids.push((await current(cheaper)).version_id);
    expect(new Set(ids).size).toBe(4);
    expect(ids).toEqual(ids.toSorted());
  });

  it("follows the source back to earlier rates", async () => {
    const made = script({ eur: "0.86" });
    const book = await open(made.source);
    for (const eur of ["0.87", "0.86"]) {
      set(made, { eur });
      await book.refresh(NOW);
      expect(await rateOf(book, "eur")).toBe(eur);
    }
  });

  it("never changes for quotes priced with it, read or cached", async () => {
    const made = script({ eur: "0.86" });
    const book = await open(made.source);
    const { version_id } = await current(book);
    set(made, { eur: "0.87" });
    await book.refresh(NOW);
    const fresh = await open(made.source);
    for (const reader of [book, fresh, fresh]) {
      const found = await reader.find(fixture.database, [version_id, version_id, randomUUID()]);
      expect([...found.keys()]).toEqual([version_id]);
      expect(formatDecimal(found.get(version_id)!.rates.get("usdc")!.get("eur")!)).toBe("0.86");
    }
  });

  it("is a single one, however many processes start at once", async () => {
    const made = script({ eur: "0.86" });
    await Promise.all(Array.from({ length: 5 }, () => open(made.source)));
    expect(await countVersions()).toBe(1);
  });

  it("sorts last even if an earlier one came from a clock that was ahead", async () => {
    const made = script({ eur: "0.86" });
    const later = new Date(NOW.getTime() + HOUR_MS);
    await open(made.source, { now: later });
    set(made, { eur: "0.87" });
    expect(await rateOf(await open(made.source), "eur")).toBe("0.87");
  });
});

describe("a rate more than 5 % off the last accepted one", () => {
  it("stops only its currency, for as long as the source returns it", async () => {
    const warnings: object[] = [];
    const made = script({ eur: "1", gbp: "0.75" });
    const log = { warn: (fields: object) => warnings.push(fields) };
    const book = await open(made.source, { log });
    set(made, { eur: "1.050000000001", gbp: "0.76" });
    await book.refresh(NOW);
    expect(await rateOf(book, "eur")).toBeUndefined();
    expect(await rateOf(book, "gbp")).toBe("0.76");
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatchObject({ token: "usdc", currency: "eur", accepted_rate: "1" });
    set(made, { eur: "1.05", gbp: "0.76" });
    await book.refresh(NOW);
    expect(await rateOf(book, "eur")).toBe("1.05");
    expect(warnings).toHaveLength(2);
  });

  it("is held downwards too; exactly 5 % passes", async () => {
    const made = script({ eur: "100" });
    const book = await open(made.source);
    set(made, { eur: "94.9999999999" });
    await book.refresh(NOW);
    expect(await rateOf(book, "eur")).toBeUndefined();
    set(made, { eur: "95" });
    await book.refresh(NOW);
    expect(await rateOf(book, "eur")).toBe("95");
  });

  it("is quoted at once when the operator confirms it, and becomes the reference", async () => {
    const made = script({ eur: "1" });
    const book = await open(made.source);
    set(made, { eur: "2" });
    await book.refresh(NOW);
    const key = { token: "usdc", currency: "eur", rate: "2" };
    const confirmed = await confirmHeldRate(fixture.database, key, BY, NOW);
    expect(confirmed).toMatchObject({ accepted_rate: "2", held_rate: null, held_at: null });
    const other = await open({ ...made.source, read: () => Promise.reject(new Error("away")) });
    expect(await rateOf(other, "eur")).toBe("2");
    expect(await rateOf(other, "eur", "usdt")).toBeUndefined();
    set(made, { eur: "2.05" });
    await book.refresh(NOW);
    expect(await rateOf(book, "eur")).toBe("2.05");
    expect(await rateOf(book, "eur", "usdt")).toBeUndefined();
    const audit = await fixture.database.query(
      "select action, record, reason, detail from audit_entries",
    );
    expect(audit).toEqual([
      {
        action: "rate.confirm",
        record: "rate:usdc/eur",
        reason: BY.reason,
        detail: '{"accepted_rate":"1","confirmed_rate":"2"}',
      },
    ]);
  });

  it("is not confirmed when another rate, or none, is held", async () => {
    const made = script({ eur: "1" });
    const book = await open(made.source);
    for (const eur of ["2", "3"]) {
      set(made, { eur });
      await book.refresh(NOW);
    }
    const confirm = (currency: string, rate: string) =>
      confirmHeldRate(fixture.database, { token: "usdc", currency, rate }, BY, NOW);
    expect(await confirm("eur", "2")).toBeUndefined();
    expect(await confirm("usd", "1")).toBeUndefined();
    expect(await confirm("gbp", "1")).toBeUndefined();
    expect(await fixture.database.query("select id from audit_entries")).toEqual([]);
    expect(await confirm("eur", "3")).toBeDefined();
  });

  it("of usd stops the token altogether, as flat fees could not be converted", async () => {
    const made = script({ eur: "0.86" });
    const book = await open(made.source);
    made.reading = { as_of: NOW, rates: { usd: "0.9", eur: "0.85" } };
    await book.refresh(NOW);
    expect((await current(book)).rates.get("usdc")!.size).toBe(0);
    await confirmHeldRate(
      fixture.database,
      { token: "usdc", currency: "usd", rate: "0.9" },
      BY,
      NOW,
    );
    await book.refresh(NOW);
    expect(await rateOf(book, "eur")).toBe("0.85");
    expect((await current(book)).rates.get("usdt")!.size).toBe(0);
  });

  it("is dropped when the source no longer returns one; the accepted one stays the reference", () => {
    const check: RateCheck = {
      ...{ token: "usdc", currency: "eur", accepted_rate: "1", accepted_at: NOW },
      ...{ held_rate: "2", held_at: NOW },
    };
    const gone = checkRates([check], { usdc: { usd: "1" } }, NOW).changed;
    expect(gone).toContainEqual({ ...check, held_rate: null, held_at: null });
    const again = checkRates([check], { usdc: { eur: "2" } }, NOW);
    expect(again).toEqual({ rates: { usdc: {} }, changed: [], newly_held: [] });
  });

  it("is listed with the accepted one", async () => {
    const made = script({ eur: "1" });
    const book = await open(made.source);
    set(made, { eur: "2" });
    await book.refresh(new Date(NOW.getTime() + 1));
    set(made, { eur: "3" });
    await book.refresh(new Date(NOW.getTime() + 2));
    expect((await listRateChecks(fixture.database))[0]).toEqual({
      ...{ token: "usdc", currency: "eur", accepted_rate: "1", accepted_at: NOW },
      ...{ held_rate: "3", held_at: new Date(NOW.getTime() + 1) },
    });
  });
});

describe("prices are stale", () => {
  it("once the rates are older than the maximum age, not before", async () => {
    const book = await open(script({ eur: "0.86" }).source);
    const limit_ms = NOW.getTime() + 72 * HOUR_MS;
    expect(await book.currentPrices(new Date(limit_ms))).toHaveProperty("version_id");
    expect(await book.currentPrices(new Date(limit_ms + 1))).toEqual({ stale: true });
  });

  it("never, with the shipped table", async () => {
    const book = await open(createShippedTable());
    const in_a_year = new Date(NOW.getTime() + 365 * 24 * HOUR_MS);
    expect(await book.currentPrices(in_a_year)).toHaveProperty("version_id");
    await book.refresh(in_a_year);
    expect(await countVersions()).toBe(1);
  });

  it("when the source has returned nothing yet; the service still starts", async () => {
    const made = script({});
    made.reading = new Error("away");
    const errors: object[] = [];
    const log = { error: (fields: object) => errors.push(fields) };
    const book = await open(made.source, { log });
    expect(errors).toHaveLength(1);
    expect(await book.currentPrices(NOW)).toEqual({ stale: true });
    await expect(book.refresh(NOW)).rejects.toThrow("script: away");
  });

  it("when the last rates are from another source", async () => {
    await open(createShippedTable());
    const made = script({});
    made.reading = new Error("away");
    expect(await (await open(made.source)).currentPrices(NOW)).toEqual({ stale: true });
  });

  it("when the source's rates are dated in the future, as they would never expire", async () => {
    const in_two_days = new Date(NOW.getTime() + 48 * HOUR_MS);
    const book = await open(script({ eur: "0.86" }, in_two_days).source);
    expect(await book.currentPrices(NOW)).toEqual({ stale: true });
  });
});

it("the recurring task reads the source and reschedules itself", async () => {
  const made = script({ eur: "0.86" });
  const { database, clock, account_id } = fixture;
  const book = await open(made.source);
  set(made, { eur: "0.87" });
  await ensureRecurring(database, { account_id, kind: REFRESH_RATES_TASK, now: clock.now() });
  const begun_ms = clock.now().getTime();
  fixture.startWorker([refreshRatesTask(database, book)]);
  await waitFor(async () => (await rateOf(book, "eur")) === "0.87");
  const isPutOff = async () => {
    const [task] = await database.query<{ due_at: Date }>("select due_at from tasks");
    return task!.due_at.getTime() >= begun_ms + HOUR_MS;
  };
  await waitFor(isPutOff);
});
