import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addApprovedUser, addPaymentDetail, addQuote } from "../harness/ramp.ts";
import { type Answer, startTestServer, type TestServer } from "../harness/server.ts";
import { findFault, good } from "./story.ts";

let server: TestServer;
let user_id: string;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  user_id = await addApprovedUser(server);
});
afterAll(async () => {
  expect(await findFault(server)).toBeNull();
  await server.close();
});

/** The largest amount keeps the quote below its limit of a thousand million tokens. */
const CURRENCIES = [
  { currency: "jpy", digits: 0, minimum: 3_000n, maximum: 140_000_000_000n },
  { currency: "eur", digits: 2, minimum: 1_00n, maximum: 800_000_000_00n },
  { currency: "tnd", digits: 3, minimum: 3_000n, maximum: 2_800_000_000_000n },
] as const;
const ITEMS = 20;
/** Others at each run; `npm run soak` tries more. */
const RUNS = process.env.LONG_TESTS ? 15 : 8;
const SINGLE_RUNS = process.env.LONG_TESTS ? 80 : 40;

type Stored = { id: string; destination_amount: bigint; fee: bigint };

async function create(
  payment_detail_id: string,
  currency: string,
  amounts: readonly unknown[],
  quote_id: string,
): Promise<Answer> {
  return server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: amounts.map((destination_amount) => ({
      payment_detail_id,
      destination_amount,
      destination_currency: currency,
      supporting_document_attributes: { submitted_url: "https://files.test/a.pdf" },
    })),
  });
}

function readStored(quote_id: string): Promise<Stored[]> {
  return server.db.database.query<Stored>(
    "select id, destination_amount, fee from offramps where quote_id = $1 order by id",
    [quote_id],
  );
}

/** Minor units as plain decimal text, computed without the service's own functions. */
function toText(minor: bigint, digits: number): string {
  const all = String(minor).padStart(digits + 1, "0");
  const decimals = digits === 0 ? "" : all.slice(-digits).replace(/0+$/, "");
  const whole = digits === 0 ? all : all.slice(0, -digits);
  return decimals === "" ? whole : `${whole}.${decimals}`;
}

/** A plain decimal text in minor units; null when it needs more digits. */
function toMinor(text: string, digits: number): bigint | null {
  if (!/^\d+(\.\d+)?$/.test(text)) return null;
  const [whole = "", decimals = ""] = text.split(".");
  if (decimals.length > digits) return null;
  return BigInt(whole + decimals.slice(0, digits).padEnd(digits, "0"));
}

/** The numbers of a raw response, exactly as written. */
const numbersOf = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`"${name}":([^,}]+)`, "g"))].map((match) => match[1]);

describe.each(CURRENCIES)("amounts in $currency", ({ currency, digits, minimum, maximum }) => {
  let payment_detail_id: string;
  beforeAll(async () => {
    payment_detail_id = await addPaymentDetail(server, user_id, currency);
  });

  const amount = fc
    .tuple(fc.bigInt(minimum, maximum), fc.nat({ max: 12 }))
    .map(([minor, shift]) => {
      const smaller = minor / 10n ** BigInt(shift);
      return smaller < minimum ? minimum + smaller : smaller;
    });
  /** As a number, as plain text, or with insignificant zeros. */
  const form = fc.constantFrom("number", "text", "zeros");

  it("every amount is stored and shown exactly as it was sent", async () => {
    const items = fc.array(fc.tuple(amount, form), { minLength: 1, maxLength: ITEMS });
    await fc.assert(
      fc.asyncProperty(items, async (wanted) => {
        const quote_id = await addQuote(server, user_id);
        // Their sum must stay below the limit too.
        const minors = wanted.map(([minor]) => minimum + minor / BigInt(ITEMS));
        const sent = wanted.map(([, how], at) => {
          const text = toText(minors[at]!, digits);
          if (how === "number") return Number(text);
          if (how === "text") return text;
          const [whole, decimals = ""] = text.split(".");
          return `00${whole}${digits > 0 ? `.${decimals.padEnd(digits, "0")}` : ""}`;
        });
        const created = await create(payment_detail_id, currency, sent, quote_id);
        good(created);
        const stored = await readStored(quote_id);
        expect(stored.map((row) => row.destination_amount)).toEqual(minors);
        const texts = minors.map((minor) => toText(minor, digits));
        expect(numbersOf(created.text, "destination_amount")).toEqual(texts);
        expect(numbersOf(created.text, "fee")).toEqual(
          stored.map((row) => toText(row.fee, digits)),
        );
        const shown = await server.call("GET", `/users/${user_id}/quotes/${quote_id}`);
        expect(numbersOf(shown.text, "destination_amount")).toEqual(texts);
      }),
      { numRuns: RUNS },
    );
  });

  const digits_and_more = fc.string({
    unit: fc.constantFrom(..."0123456789012345678901234567890123456789.....eE+- ,_٣"),
    minLength: 1,
    maxLength: 18,
  });
  const decimal = fc
    .tuple(fc.bigInt(0n, maximum), fc.nat({ max: 6 }))
    .map(([units, scale]) => toText(units, scale));
  const anything = fc.oneof(
    fc.double(),
    fc.double({ min: 0, max: 1e12 }),
    fc.integer(),
    decimal,
    decimal.map(Number),
    digits_and_more,
    fc.constantFrom(2 ** 53, 2 ** 53 + 2, 1e15, 1e21, 5e-324, 0.1 + 0.2, 1.005, 4.35, 1000.5),
  );

  it("every amount is either refused or kept unchanged", async () => {
    let quote_id = await addQuote(server, user_id);
    let count = 0;
    await fc.assert(
      fc.asyncProperty(anything, async (value) => {
        if (count === ITEMS) {
          quote_id = await addQuote(server, user_id);
          count = 0;
        }
        const created = await create(payment_detail_id, currency, [value], quote_id);
        const stored = await readStored(quote_id);
        if (created.status === 200) {
          count += 1;
          const text = typeof value === "string" ? value : JSON.stringify(value);
          const minor = toMinor(text, digits);
          expect(stored.at(-1)!.destination_amount).toBe(minor);
          expect(numbersOf(created.text, "destination_amount")).toEqual([toText(minor!, digits)]);
        } else {
          expect([400, 422], created.text).toContain(created.status);
          expect(stored.length).toBe(count);
        }
      }),
      { numRuns: SINGLE_RUNS },
    );
  });

  it("an amount with one decimal too many is refused, never rounded", async () => {
    const quote_id = await addQuote(server, user_id);
    await fc.assert(
      fc.asyncProperty(amount, fc.constantFrom(1, 5, 9), async (minor, last) => {
        const whole = toText(minor, 0);
        const text = `${whole.slice(0, 9)}.${"0".repeat(digits)}${last}`;
        for (const value of [text, Number(text)]) {
          const created = await create(payment_detail_id, currency, [value], quote_id);
          expect(created.body.error_code, `${value} ${created.text}`).toBe("record_invalid");
        }
      }),
      { numRuns: RUNS },
    );
    expect(await readStored(quote_id)).toEqual([]);
  });
});
