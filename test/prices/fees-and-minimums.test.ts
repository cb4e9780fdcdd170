import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadCatalogue, payoutCurrencies, railsOf } from "../../src/catalogue/catalogue.ts";
import { minorDigits } from "../../src/catalogue/currencies.ts";
import { loadFees } from "../../src/catalogue/fee-table.ts";
import type { Rail } from "../../src/catalogue/rails.ts";
import { RATES_TABLE } from "../../src/catalogue/rates-table.ts";
import { type Decimal, parseDecimal } from "../../src/platform/money.ts";
import {
  affordableOfframp,
  affordableOnramp,
  hasRate,
  minimumMinor,
  priceOfframp,
  priceOnramp,
} from "../../src/prices/fees-and-minimums.ts";
import type { Prices } from "../../src/prices/price-book.ts";

const catalogue = loadCatalogue();
const ROUTES = payoutCurrencies(catalogue).flatMap((currency) =>
  railsOf(catalogue, currency).map((rail) => ({ token: "usdc" as const, currency, rail })),
);

function pricesOf(table: Readonly<Record<string, string>>, fees_text?: string): Prices {
  const rates = new Map(Object.entries(table).map(([code, rate]) => [code, parseDecimal(rate)!]));
  const by_token = new Map(["usdc", "usdt"].map((token) => [token, rates]));
  const fees = loadFees(fees_text);
  return {
    version_id: "test",
    source: "test",
    as_of: null,
    expires_at: null,
    rates: by_token,
    onramp_rates: by_token,
    source_rates: by_token,
    stopped: { offramps: [], onramps: [] },
    fees,
  };
}

const PRICES = pricesOf(RATES_TABLE);
const offramp = (amount_minor: bigint, currency: string, rail: Rail, prices = PRICES) =>
  priceOfframp({ amount_minor, currency, rail, token: "usdc" }, prices);

/** A slow reference calculation: fractions of whole numbers, and nothing else. */
type Fraction = { n: bigint; d: bigint };
const whole = (n: bigint): Fraction => ({ n, d: 1n });
const toFraction = ({ units, scale }: Decimal): Fraction => ({ n: units, d: 10n ** BigInt(scale) });
const plus = (a: Fraction, b: Fraction): Fraction => ({ n: a.n * b.d + b.n * a.d, d: a.d * b.d });
const times = (a: Fraction, b: Fraction): Fraction => ({ n: a.n * b.n, d: a.d * b.d });
const over = (a: Fraction, b: Fraction): Fraction => ({ n: a.n * b.d, d: a.d * b.n });
const ceil = (a: Fraction): bigint => (a.n % a.d === 0n ? a.n / a.d : a.n / a.d + 1n);
const isAtMost = (a: Fraction, b: Fraction) => a.n * b.d <= b.n * a.d;

type Priced = { amount_minor: bigint; currency: string; rail: Rail };

function flatOf({ currency, rail }: Omit<Priced, "amount_minor">, prices: Prices): Fraction {
  const rates = prices.rates.get("usdc")!;
  const usd_to_currency = over(toFraction(rates.get(currency)!), toFraction(rates.get("usd")!));
  const flat = times(toFraction(prices.fees[rail].flat_usd), usd_to_currency);
  return times(flat, whole(10n ** BigInt(minorDigits(currency)!)));
}

function slowly(input: Priced, prices: Prices) {
  const { amount_minor, currency, rail } = input;
  const share = over(whole(BigInt(prices.fees[rail].basis_points)), whole(10_000n));
  const fee_minor = ceil(plus(times(whole(amount_minor), share), flatOf(input, prices)));
  const rate = toFraction(prices.rates.get("usdc")!.get(currency)!);
  const minor = whole(10n ** BigInt(minorDigits(currency)!));
  const inMillionths = (of_minor: bigint) =>
    ceil(times(over(over(whole(of_minor), minor), rate), whole(1_000_000n)));
  const token_amount = inMillionths(amount_minor + fee_minor);
  return { fee_minor, token_amount, token_fee: inMillionths(fee_minor) };
}

const rate_text = fc
  .tuple(fc.bigInt({ min: 1n, max: 10n ** 12n - 1n }), fc.integer({ min: 1, max: 11 }))
  .map(([units, point]) => {
    const digits = String(units).padStart(12, "0");
    return `${digits.slice(0, point)}.${digits.slice(point)}`;
  });
const any_case = fc.record({
  route: fc.constantFrom(...ROUTES),
  amount_minor: fc.bigInt({ min: 1n, max: 10n ** 15n }),
  currency_rate: rate_text,
  usd_rate: fc.oneof(fc.constant("1"), rate_text),
  basis_points: fc.integer({ min: 0, max: 5_000 }),
  flat_usd: fc.integer({ min: 0, max: 100_000 }).map((cents) => (cents / 100).toFixed(2)),
});

function createCase(made: {
  route: (typeof ROUTES)[number];
  amount_minor: bigint;
  currency_rate: string;
  usd_rate: string;
  basis_points: number;
  flat_usd: string;
}) {
  const { route, amount_minor, currency_rate, usd_rate, basis_points, flat_usd } = made;
  const rates = { [route.currency]: currency_rate, usd: usd_rate };
  const fees = JSON.stringify({ [route.rail]: { basis_points, flat_usd } });
  return { input: { ...route, amount_minor }, prices: pricesOf(rates, fees) };
}

describe("priceOfframp", () => {
  it("19 000 usd by swift cost 125", () => {
    expect(offramp(1_900_000n, "usd", "swift")).toEqual({
      rate: "1",
      fee_minor: 12_500n,
      token_amount: 19_125_000_000n,
      token_fee: 125_000_000n,
    });
  });

  it("1 000 eur local cost 4", () => {
    expect(offramp(100_000n, "eur", "local")).toEqual({
      rate: "0.86",
      fee_minor: 400n,
      token_amount: 1_167_441_861n, // 1004 / 0.86 = 1167.44186046…
      token_fee: 4_651_163n,
    });
  });

  it("a flat fee is converted at the quote's rates: 49 usd are 7 497 jpy", () => {
    expect(offramp(3_000n, "jpy", "swift").fee_minor).toBe(7_497n + 12n);
  });

  it("a wire costs 20 usd more, and tokens above par make the flat part cheaper in tokens", () => {
    expect(offramp(100_000n, "usd", "wire").fee_minor).toBe(400n + 2_000n);
    const prices = pricesOf({ usd: "1.25", eur: "1" });
    expect(offramp(100_000n, "eur", "swift", prices).fee_minor).toBe(400n + 3_920n);
  });

  it("agrees with a slow calculation in fractions, for any rates and fees", () => {
    fc.assert(
      fc.property(any_case, (made) => {
        const { input, prices } = createCase(made);
        expect(priceOfframp(input, prices)).toMatchObject(slowly(input, prices));
      }),
      { numRuns: 2_000 },
    );
  });

  it("the requested tokens cover amount and fee, with less than a millionth to spare", () => {
    fc.assert(
      fc.property(any_case, (made) => {
        const { input, prices } = createCase(made);
        const { token_amount, fee_minor } = priceOfframp(input, prices);
        const rate = toFraction(prices.rates.get("usdc")!.get(input.currency)!);
        const minor = whole(10n ** BigInt(minorDigits(input.currency)!));
        const worth = (tokens: bigint) => times(times({ n: tokens, d: 1_000_000n }, rate), minor);
        const owed = whole(input.amount_minor + fee_minor);
        expect(isAtMost(owed, worth(token_amount))).toBe(true);
        expect(isAtMost(owed, worth(token_amount - 1n))).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  it("a quote's totals do not depend on the order of its offramps", () => {
    const items = fc.array(
      fc.record({
        route: fc.constantFrom(...ROUTES),
        amount_minor: fc.bigInt({ min: 1n, max: 10n ** 12n }),
        place: fc.nat(),
      }),
      { minLength: 1, maxLength: 40 },
    );
    const total = (list: { route: (typeof ROUTES)[number]; amount_minor: bigint }[]) =>
      list
        .map(({ route, amount_minor }) => priceOfframp({ ...route, amount_minor }, PRICES))
        .reduce(
          (sum, { token_amount, token_fee }) => [sum[0]! + token_amount, sum[1]! + token_fee],
          [0n, 0n],
        );
    fc.assert(
      fc.property(items, (list) => {
        expect(total(list.toSorted((a, b) => a.place - b.place))).toEqual(total(list));
      }),
    );
  });
});

it.each(ROUTES)(
  "$currency by $rail: the percentage fee stays under 0.41 % and a minor unit",
  (route) => {
    const million = 1_000_000n * 10n ** BigInt(minorDigits(route.currency)!);
    const minimum = minimumMinor(catalogue, PRICES, "usdc", route.currency, route.rail);
    expect(minimum).toBeGreaterThan(0n);
    for (const amount_minor of [minimum, million]) {
      const { fee_minor } = priceOfframp({ ...route, amount_minor }, PRICES);
      const limit = plus({ n: amount_minor * 41n, d: 10_000n }, whole(1n));
      expect(isAtMost(whole(fee_minor), plus(limit, flatOf(route, PRICES)))).toBe(true);
    }
  },
);

describe("from a token amount", () => {
  it("the fiat amount is the largest that the tokens pay for", () => {
    const tokens = fc.bigInt({ min: 1n, max: 10n ** 15n - 1n });
    fc.assert(
      fc.property(any_case, tokens, (made, token_amount) => {
        const { input, prices } = createCase(made);
        const cost = (amount_minor: bigint) =>
          priceOfframp({ ...input, amount_minor }, prices).token_amount;
        const amount_minor = affordableOfframp(input, token_amount, prices);
        if (amount_minor > 0n) expect(cost(amount_minor)).toBeLessThanOrEqual(token_amount);
        expect(cost(amount_minor + 1n)).toBeGreaterThan(token_amount);
      }),
      { numRuns: 500 },
    );
  });

  it("too few tokens for the flat fee pay for nothing", () => {
    const route = { token: "usdc", currency: "usd", rail: "swift" } as const;
    expect(affordableOfframp(route, 48_000_000n, PRICES)).toBe(0n);
    expect(affordableOfframp(route, 19_125_000_000n, PRICES)).toBe(1_900_000n);
  });
});

describe("onramps", () => {
  it.each([
    [1_000_000_000n, "usd", 400n, 100_400n],
    [2_500_000_000n, "usd", 1_000n, 251_000n],
    [1_000_000_000n, "eur", 344n, 86_344n],
    [1n, "eur", 1n, 2n],
  ])("%i millionths for %s: fee %i, deposit %i", (token_amount, currency, fee, deposit) => {
    const price = priceOnramp({ token: "usdc", currency, token_amount }, PRICES);
    expect(price).toMatchObject({ fee_minor: fee, deposit_minor: deposit });
  });

  it("a deposit buys the largest amount that it pays for", () => {
    const deposit = fc.bigInt({ min: 1n, max: 10n ** 14n });
    fc.assert(
      fc.property(deposit, fc.constantFrom("usd", "eur"), (deposit_minor, currency) => {
        const pair = { token: "usdc", currency } as const;
        const cost = (token_amount: bigint) =>
          priceOnramp({ ...pair, token_amount }, PRICES).deposit_minor;
        const token_amount = affordableOnramp(pair, deposit_minor, PRICES);
        if (token_amount > 0n) expect(cost(token_amount)).toBeLessThanOrEqual(deposit_minor);
        expect(cost(token_amount + 1n)).toBeGreaterThan(deposit_minor);
      }),
    );
  });
});

describe("minimums", () => {
  it.each([
    ["eur", "local", 100n],
    ["usd", "swift", 3_000n],
    ["jpy", "swift", 3_000n],
    ["xof", "swift", 565n], // one usd is 564.12, rounded up
    ["tnd", "local", 2_940n],
    ["pln", "swift", 365n],
  ] as const)("%s by %s: %i minor units", (currency, rail, minimum) => {
    expect(minimumMinor(catalogue, PRICES, "usdc", currency, rail)).toBe(minimum);
  });
});

it("the shipped table has a rate for every payout currency, usd exactly 1", () => {
  for (const currency of payoutCurrencies(catalogue)) {
    for (const token of ["usdc", "usdt"] as const) {
      expect(hasRate(PRICES, token, currency), currency).toBe(true);
    }
  }
  expect(RATES_TABLE.usd).toBe("1");
  expect(hasRate(PRICES, "usdc", "xxx")).toBe(false);
});

describe("the operator's fees", () => {
  it("replace the kinds that the file names", () => {
    const text = '{"local":{"basis_points":25},"wire":{"basis_points":0,"flat_usd":"7.50"}}';
    const prices = pricesOf(RATES_TABLE, text);
    expect(offramp(100_000n, "eur", "local", prices).fee_minor).toBe(250n);
    expect(offramp(100_000n, "usd", "wire", prices).fee_minor).toBe(750n);
    expect(offramp(1_900_000n, "usd", "swift", prices).fee_minor).toBe(12_500n);
  });

  it.each([
    ["{", "the file must be well-formed JSON"],
    ["[]", "the file must be an object"],
    ['{"sepa":{}}', "has the unknown key sepa; known keys are local, swift, wire, onramp"],
    ['{"local":40}', "local must be an object"],
    ['{"local":{}}', "local.basis_points must be a whole number from 0 to 5000"],
    ['{"local":{"basis_points":40.5}}', "local.basis_points must be a whole number"],
    ['{"local":{"basis_points":-1}}', "local.basis_points must be a whole number"],
    ['{"swift":{"basis_points":40,"flat_usd":49}}', "swift.flat_usd must be a decimal string"],
    ['{"swift":{"basis_points":40,"flat_usd":"1.005"}}', "swift.flat_usd must be a decimal"],
    ['{"onramp":{"basis_points":40,"flat_usd":"1"}}', "onramps have no flat fee"],
  ])("%s is refused with a message", (text, sentence) => {
    expect(() => loadFees(text)).toThrow(sentence);
  });
});
