import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readMetadata } from "../../src/catalogue/metadata.ts";

const FIELD = "payment_detail.metadata";

function codes(value: unknown): string[] {
  const found: string[] = [];
  readMetadata(value, FIELD, (field, code) => found.push(`${field} ${code}`));
  return found;
}

function keys(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`key ${n}`, n]));
}

describe("metadata", () => {
  test.each([
    ...[undefined, null, {}, { order: "7", paid: true, n: -1.5, note: "" }, keys(50)],
    ...[{ ["k".repeat(40)]: "v".repeat(500) }, { emoji: "😀".repeat(500) }],
  ])("%j is accepted", (value) => {
    expect(codes(value)).toEqual([]);
  });

  test.each([[[]], ["text"], [5], [true]])("%j is not an object", (value) => {
    expect(codes(value)).toEqual([`${FIELD} record_invalid`]);
  });

  test("more than 50 keys are refused", () => {
    expect(codes(keys(51))).toEqual([`${FIELD} record_invalid`]);
  });

  test("a key of 41 characters and a value of 501 are too long", () => {
    expect(codes({ ["k".repeat(41)]: 1 })).toEqual([`${FIELD} value_too_long`]);
    expect(codes({ note: "v".repeat(501) })).toEqual([`${FIELD}.note value_too_long`]);
  });

  test.each([null, {}, [], Number.NaN, Number.POSITIVE_INFINITY, undefined])(
    "the value %j is refused",
    (item) => {
      expect(codes({ note: item })).toEqual([`${FIELD}.note record_invalid`]);
    },
  );

  test("NUL, lone surrogates and blank keys are refused", () => {
    expect(codes({ note: "a\0" })).toEqual([`${FIELD}.note record_invalid`]);
    expect(codes({ note: "\ud800" })).toEqual([`${FIELD}.note record_invalid`]);
    expect(codes({ "a\0": 1, " ": 1 })).toEqual(Array(2).fill(`${FIELD} record_invalid`));
  });

  test("all problems are reported together", () => {
    expect(codes({ a: null, b: "ok", c: [] })).toHaveLength(2);
  });

  test("no JSON value makes it throw", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = readMetadata(value, FIELD, () => {});
        expect(read ?? {}).toEqual(read === null ? {} : value);
      }),
    );
  });
});
