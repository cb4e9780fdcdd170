import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Refusal } from "../../../src/platform/errors.ts";
import { parseJsonBody } from "../../../src/platform/http/json-body.ts";
import { isSameNumber } from "../../../src/platform/money.ts";

const parse = (text: string) => parseJsonBody(Buffer.from(text));
function refusalOf(text: string): Refusal {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof Refusal) return error;
  }
  throw new Error("it was not refused");
}
const changed = (field: string) => ({
  field,
  code: "record_invalid",
  message: "Send at most 15 significant digits.",
});

describe("numbers that a double cannot represent", () => {
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
  ])("%s is accepted", (text) => {
    expect(parse(text)).toMatchObject({ value: JSON.parse(text), problems: [] });
  });

  it("no number is changed silently", () => {
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

  const list = (length: number) => `[${Array(length).fill("9007199254740993").join(",")}]`;

  it("each is reported, as many as an answer lists", () => {
    const { problems } = parse(list(100));
    expect(problems).toHaveLength(100);
    expect(problems.at(-1)).toEqual(changed("[99]"));
  });

  it("more than an answer lists are counted and refused at once", () => {
    const refusal = refusalOf(list(1_000));
    expect(refusal).toMatchObject({ code: "record_invalid", problems_omitted: 900 });
    expect(refusal.problems).toHaveLength(100);
  });

  it("are reported besides forbidden characters", () => {
    const { problems } = parse('{"a":"\\u0000","b":9007199254740993}');
    expect(problems.map((problem) => problem.field)).toEqual(["a", "b"]);
  });
});

it("nesting is still limited to 32 levels", () => {
  expect(parse(`${"[".repeat(32)}${"]".repeat(32)}`).problems).toEqual([]);
  expect(() => parse(`${"[".repeat(33)}${"]".repeat(33)}`)).toThrow("32 levels");
});

describe("a name that occurs twice in one object", () => {
  it.each([
    ['{"amount":10,"amount":10000}', "amount"],
    ['{"offramps":[{"a":1},{"a":1,"b":2,"a":1}]}', "a"],
    ['{"a":{"b":{"c":1,"c":1}}}', "c"],
    ['{"amount":1,"\\u0061mount":2}', "amount"],
    ['{"é":1,"\\u00e9":2}', "é"],
    ['{"😀":1,"\\ud83d\\ude00":2}', "😀"],
    ['{"":1,"":2}', ""],
    ['{"__proto__":1,"__proto__":2}', "__proto__"],
    ['{"a\\"":1,"a\\u0022":2}', 'a\\"'],
  ])("%s is refused", (text, name) => {
    expect(() => parse(text)).toThrow(`"${name}" appears twice in one JSON object`);
  });

  it.each([
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":"a","b":"a","c":["a","a"]}',
    '{"a":1,"A":2,"a ":3}',
    '{"a":"{\\"b\\":1,\\"b\\":2}"}',
  ])("%s is accepted", (text) => {
    expect(parse(text).value).toEqual(JSON.parse(text));
  });

  it("is quoted with at most a hundred characters", () => {
    const name = "n".repeat(5_000);
    expect(() => parse(`{"${name}":1,"${name}":1}`)).toThrow(/^"n{100}" appears twice/);
  });

  it("every accepted object has exactly the names of the parsed one", () => {
    const name = fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom("a", "b", '"', "\\"));
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.boolean()), { maxLength: 6 }), (members) => {
        const spell = (text: string, escaped: boolean) =>
          escaped
            ? `"${[...text].map((one) => one.split("").map(escaped_unit).join("")).join("")}"`
            : JSON.stringify(text);
        const text = `{${members.map(([one, escaped]) => `${spell(one, escaped)}:1`).join(",")}}`;
        const is_unique = new Set(members.map(([one]) => one)).size === members.length;
        const has_backslash = members.some(([one]) => one.includes("\\"));
        if (is_unique && !has_backslash)
          expect(Object.keys(parse(text).value as object)).toHaveLength(members.length);
        else if (has_backslash) expect(() => parse(text)).toThrow();
        else expect(() => parse(text)).toThrow("appears twice");
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("a name with a backslash", () => {
  it.each([
    ['{"a\\\\":1}', "body"],
    ['{"user":{"metadata":{"a":1,"\\u005c":1}}}', "user.metadata"],
    ['{"offramps":[{},{"\\\\u00":1}]}', "offramps[1]"],
  ])("%s is refused at %s", (text, field) => {
    let refusal: unknown;
    try {
      parse(text);
    } catch (error) {
      refusal = error;
    }
    const problem = { field, message: "Send names of fields without backslashes." };
    expect(refusal).toMatchObject({ code: "record_invalid", problems: [problem] });
  });

  // V8 of Node 26 compares the expected name with the text before it resolves escapes.
  it.each([
    ['{"order":1,"pr\\\\u00":1}', '{"order":1,"pr\\u00e9nom":1}', "prénom"],
    ['{"ref":1,"\\\\":1}', '{"ref":1,"\\"":1}', '"'],
    ['{"one":1,"\\\\u0061mou":1}', '{"one":1,"\\u0061mountxyz":1}', "amountxyz"],
    ['{"two":1,"__p\\\\u0072":1}', '{"two":1,"__p\\u0072oto__":1}', "__proto__"],
  ])("after %s, %s keeps its own name", (before, text, name) => {
    expect(() => parse(before)).toThrow();
    expect(Object.keys(parse(text).value as object)[1]).toBe(name);
  });
});

const escaped_unit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

describe("a body with more values than any valid request", () => {
  it.each([
    ["numbers", '{"offramps":[', "0", "]}", "offramps"],
    ["objects", '{"offramps":[', "{}", "]}", "offramps"],
    ["arrays within", '{"a":{"b":[', "[]", "]}}", "a.b"],
    ["items of the body itself", "[", '""', "]", "body"],
  ])("is refused at %s, before it is parsed", (_name, head, item, tail, field) => {
    const text = `${head}${Array(130_000).fill(item).join(",")}${tail}`;
    let refusal: unknown;
    try {
      parse(text);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({ code: "record_invalid", problems: [{ field }] });
  });

  it("a batch of 5 000 rows with 16 cells each is accepted", () => {
    const cells = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`cell_${at}`, "x"]));
    const rows = Array.from({ length: 5_000 }, (_, at) => ({ n: at + 1, cells }));
    expect(parse(JSON.stringify({ batch: { rows } })).problems).toEqual([]);
  });
});

describe("an object with more fields than any valid request", () => {
  const members = (count: number) =>
    Array.from({ length: count }, (_, index) => `"field_${index}":1`).join(",");

  it("is refused at its path, without a look at the rest of the body", () => {
    const message = "Send fewer fields: an object has at most 1000.";
    expect(refusalOf(`{"user":{${members(1_001)}}}`).problems).toEqual([
      { field: "user", code: "record_invalid", message },
    ]);
    expect(refusalOf(`[{${members(1_001)},{`).problems).toEqual([
      { field: "[0]", code: "record_invalid", message },
    ]);
  });

  it("1 000 in each of several objects are accepted", () => {
    expect(parse(`[{${members(1_000)}},{${members(1_000)}}]`).problems).toEqual([]);
  });
});

it("texts of any length end at their closing quote, wherever they have escapes", () => {
  for (let before = 0; before < 140; before += 1) {
    for (const after of [0, 1, 100]) {
      const a = `${"x".repeat(before)}"\\${"é".repeat(after)}`;
      const text = JSON.stringify({ a, b: 1e21 }).replace("1e+21", "9007199254740993");
      const { value, problems } = parse(text);
      expect(value).toMatchObject({ a });
      expect(problems).toEqual([changed("b")]);
    }
  }
});

it("exactly the texts that are no Unicode or contain NUL are reported", () => {
  const parts = [
    "\\u0000",
    "\\uD83D",
    "\\ude00",
    "\\uD83D\\uDE00",
    "\\u0041",
    "\\\\",
    "u0000",
    "a",
    "\\n",
  ];
  const any_text = fc.array(fc.constantFrom(...parts), { maxLength: 6 });
  fc.assert(
    fc.property(any_text, (texts) => {
      const json = `"${texts.join("")}"`;
      const text: string = JSON.parse(json);
      const is_forbidden = text.includes("\0") || !text.isWellFormed();
      expect(parseJsonBody(Buffer.from(json)).problems.length).toBe(is_forbidden ? 1 : 0);
    }),
    { numRuns: 2_000 },
  );
});
