import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonBody } from "../../src/platform/http/json-body.ts";
import { isSameNumber } from "../../src/platform/money.ts";

const parse = (text: string) => parseJsonBody(Buffer.from(text));
const changed = (field: string) => ({
  field,
  code: "record_invalid",
  message: "Send at most 15 significant digits.",
});

describe("numbers that a double cannot hold", () => {
  it.each([
    ['{"quote":{"fiat_amount":1000.000000000000001}}', "quote.fiat_amount"],
    ['{"offramps":[{"a":1},{"a":12345678901234567891}]}', "offramps[1].a"],
    ['{"a":1e400}', "a"],
    ['{"a":1e-400}', "a"],
    ['{"a":-0.10000000000000000001}', "a"],
    ["[[1,9007199254740993]]", "[0][1]"],
    ["9007199254740993", "body"],
    ['{"__proto__":9007199254740993}', "__proto__"],
  ])("%s is refused at %s", (text, field) => {
    expect(parse(text).problems).toEqual([changed(field)]);
  });

  it.each([
    '{"a":1.50000000000000000000}',
    '{"a":1e3,"b":1E-7,"c":1.5e+10}',
    '{"a":1731628800000000}',
    '{"a":"1000.000000000000001"}',
    '{"a":"\\"9007199254740993","b":true,"c":false,"d":null}',
    '{"9007199254740993":1}',
    '{"a":0.000000000000000000}',
    '{"a":1e-99,"b":-123456789012345e+99}',
    '{"a":"\\\\","b":"9007199254740993"}',
  ])("%s is taken", (text) => {
    expect(parse(text)).toMatchObject({ value: JSON.parse(text), problems: [] });
  });

  it("no number is changed without a word, whatever it looks like", () => {
    const number = fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,20})?([eE][+-]?\d{1,3})?$/);
    fc.assert(
      fc.property(number, (text) => {
        const { value, problems } = parse(`{"a":[${text}]}`);
        const [read] = (value as { a: [number] }).a;
        expect(problems).toEqual(isSameNumber(text, read) ? [] : [changed("a[0]")]);
      }),
      { numRuns: 5_000 },
    );
  });

  it("reports a hundred at most", () => {
    const text = `[${Array.from({ length: 1_000 }, () => "9007199254740993").join(",")}]`;
    expect(parse(text).problems).toHaveLength(100);
  });

  it("a duplicate key's earlier value counts too, as part of the body", () => {
    expect(parse('{"a":9007199254740993,"a":1}').problems).toEqual([changed("body")]);
  });

  it("in a body of more than a megabyte the field goes unnamed", () => {
    const text = `{"a":9007199254740993,"b":"${"x".repeat(1024 * 1024)}"}`;
    expect(parse(text).problems).toEqual([changed("body")]);
  });

  it("takes a body full of long numbers for what it is", () => {
    const numbers = (count: number) => `[${Array(count).fill("1731628800000000").join(",")}]`;
    expect(parse(numbers(10_000)).problems).toEqual([]);
    expect(parse(numbers(10_001)).problems).toEqual([changed("body")]);
  });

  it("is reported beside forbidden characters", () => {
    const { problems } = parse('{"a":"\\u0000","b":9007199254740993}');
    expect(problems.map((problem) => problem.field)).toEqual(["a", "b"]);
  });
});

it("nesting is still limited to 32 levels", () => {
  expect(parse(`${"[".repeat(32)}${"]".repeat(32)}`).problems).toEqual([]);
  expect(() => parse(`${"[".repeat(33)}${"]".repeat(33)}`)).toThrow("32 levels");
});
