import fc from "fast-check";

/** A piece of JSON text that no JavaScript value can represent. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object as a list of members: keys may occur twice, and be named `__proto__`. */
class Members {
  readonly list: readonly (readonly [string, unknown])[];

  constructor(list: readonly (readonly [string, unknown])[]) {
    this.list = list;
  }
}

export function writeJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (value instanceof Members) {
    return `{${value.list.map(([key, item]) => `${writeJson(key)}:${writeJson(item)}`).join(",")}}`;
  }
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  return writeJson(new Members(Object.entries(value)));
}

/** Text that often causes errors. */
export function junkText(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string({ maxLength: 30 }),
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.constantFrom("", " ", "\u0000", "a\u0000b", "\ud800", "x\udfff", "\u202e", "\ufeff", "💩"),
    fc.constantFrom(
      "null",
      "undefined",
      "NaN",
      "true",
      "1e400",
      "-0",
      "__proto__",
      "%s%n",
      "{{7}}",
    ),
    fc.constantFrom("' or 1=1 --", "<script>", "../../etc/passwd", "\r\nX-A: b", "İ", "ﬀ", "ß"),
    fc.constantFrom("01/01/0000", "31/02/2000", "9999-99-99", "a@b.c", "+1234567", "US", "DE89"),
    fc.constantFrom(101, 255, 256, 501, 10_000).map((length) => "z".repeat(length)),
  );
}

export function junkJson(): fc.Arbitrary<unknown> {
  return fc.oneof(
    junkText(),
    fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, [], {}, [[]], 2 ** 53, "0.1", [null]),
    fc.constantFrom(...NUMBERS).map((text) => new RawJson(text)),
    fc.constantFrom(...TEXTS).map((text) => new RawJson(text)),
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom(5, 31, 32, 33, 5_000).map((depth) => nested("[", "]", depth)),
    fc.constantFrom(5, 31, 32, 33, 5_000).map((depth) => nested('{"a":', "}", depth)),
    fc.constantFrom(60, 2_000).map((length) => Array.from({ length }, (_, index) => index)),
    fc.constantFrom(60, 2_000).map((length) => new Members(manyMembers(length))),
    fc
      .constantFrom("__proto__", "constructor", "toString", "hasOwnProperty")
      .map((name) => new Members([[name, new Members([["polluted", true]])]])),
    fc.constantFrom(100_000, 1_100_000).map((length) => "h".repeat(length)),
  );
}

const NUMBERS = ["1e400", "-1e400", "-0", "1e-400", "1E+2", "0.1e1", "9007199254740993", "1.0"];
const TEXTS = [
  '"\\u0000"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\u005f_proto__"',
  '"\\/"',
  "01",
  "+1",
];

function nested(open: string, close: string, depth: number): RawJson {
  return new RawJson(`${open.repeat(depth)}1${close.repeat(depth)}`);
}

function manyMembers(length: number): [string, unknown][] {
  return Array.from({ length }, (_, index) => [`key${index}`, index]);
}

type Change = "replace" | "remove" | "add" | "twice" | "rename";

/** The text of `body` with one to three random changes. */
export function mutateJson(body: unknown): fc.Arbitrary<string> {
  const change = fc.record({
    at: fc.nat({ max: 1_000 }),
    change: fc.constantFrom<Change>("replace", "replace", "remove", "add", "twice", "rename"),
    name: fc.oneof(fc.constantFrom(...ODD_NAMES), fc.string({ maxLength: 12 })),
    value: junkJson(),
  });
  return fc
    .array(change, { minLength: 1, maxLength: 3 })
    .map((changes) => writeJson(changes.reduce<unknown>(applyChange, toMembers(body))));
}

const ODD_NAMES = [
  ...["__proto__", "constructor", "prototype", "metadata", "id", "account_id", "toString", ""],
  ...["\u0000", "\ud800", "a.b", "a/b", "a[0]", "~1", "n".repeat(300), "emial", "$ref"],
];

function toMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toMembers);
  if (value === null || typeof value !== "object") return value;
  return new Members(Object.entries(value).map(([key, item]) => [key, toMembers(item)]));
}

function applyChange(
  root: unknown,
  { at, change, name, value }: { at: number; change: Change; name: string; value: unknown },
): unknown {
  const objects = membersIn(root);
  const target = objects[at % Math.max(1, objects.length)];
  if (!target || target.list.length === 0) return value;
  const chosen = at % target.list.length;
  const list = target.list.flatMap(([key, item], index): [string, unknown][] => {
    if (index !== chosen) return [[key, item]];
    if (change === "replace") return [[key, value]];
    if (change === "remove") return [];
    if (change === "rename") return [[name, item]];
    const added: [string, unknown] = [change === "add" ? name : key, value];
    return [[key, item], added];
  });
  return replaced(root, target, new Members(list));
}

function membersIn(value: unknown): Members[] {
  if (Array.isArray(value)) return value.flatMap(membersIn);
  if (!(value instanceof Members)) return [];
  return [value, ...value.list.flatMap(([, item]) => membersIn(item))];
}

function replaced(value: unknown, target: Members, by: Members): unknown {
  if (value === target) return by;
  if (Array.isArray(value)) return value.map((item) => replaced(item, target, by));
  if (!(value instanceof Members)) return value;
  return new Members(value.list.map(([key, item]) => [key, replaced(item, target, by)]));
}

/** Corrupts a text at the byte level. */
export function mutateBytes(bytes: Buffer): fc.Arbitrary<Buffer> {
  const place = fc.nat({ max: bytes.length });
  const insert = (added: Uint8Array) =>
    place.map((at) => Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at)]));
  return fc.oneof(
    place.map((at) => bytes.subarray(0, at)),
    fc
      .constantFrom([0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0x00], [0x0d, 0x0a])
      .chain((added) => insert(Uint8Array.from(added))),
    fc
      .constantFrom("\ufeff", "//", "{", "]", ",", "NaN")
      .chain((text) => insert(Buffer.from(text))),
    fc.constant(Buffer.concat([Buffer.from("\ufeff"), bytes])),
    fc.constant(Buffer.concat([bytes, bytes])),
    fc.constant(Buffer.concat([bytes, Buffer.alloc(1024 * 1024, " ")])),
    fc.constant(Buffer.from(bytes.toString(), "utf16le")),
  );
}
