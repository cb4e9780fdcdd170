import { parse as parseForm } from "fast-querystring";
import { describe, expect, it } from "vitest";
import { CreateInvoiceBody } from "../../../src/invoices/schemas.ts";
import { CreateOfframpsBody } from "../../../src/offramps/schemas.ts";
import { canonicalJson, parseJsonBody } from "../../../src/platform/http/json-body.ts";
import { readBoundary, readOnePart } from "../../../src/platform/http/uploads/multipart.ts";
import { compileCheck } from "../../../src/platform/http/validate.ts";
import { parseAmount } from "../../../src/platform/money.ts";
import { CreateUserBody } from "../../../src/users/schemas.ts";

/** Doubled three times, linear work takes 8 times as long, quadratic work 64 times. */
const STEPS = 3;
const GROWTH_MAX = 24;
const SAMPLES = 5;
/** Below this, clock resolution and garbage collection dominate. */
const LEAST_MS = 4;

type Work = (input: never) => unknown;

/**
 * How much longer the work takes for an input of eight times the size; the best of several runs.
 */
async function growth(make: (size: number) => unknown, work: Work, size: number): Promise<number> {
  const small = await fastest(make(size), work);
  const large = await fastest(make(size * 2 ** STEPS), work);
  return large / Math.max(small, LEAST_MS);
}

async function fastest(input: unknown, work: Work): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    // Processor time: other programs on the machine do not count.
    const started = process.cpuUsage();
    try {
      await work(input as never);
    } catch {
      // A refusal is measured like a success.
    }
    const { user, system } = process.cpuUsage(started);
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
}

const repeat = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length));
const list = (item: string, bytes: number) =>
  `[${Array(Math.floor(bytes / (item.length + 1)))
    .fill(item)
    .join(",")}]`;
const members = (bytes: number, value: string) => {
  const all: string[] = [];
  for (let length = 0; length < bytes; length += all.at(-1)!.length + 1) {
    all.push(`"k${all.length}":${value}`);
  }
  return `{${all.join(",")}}`;
};

const checks = [CreateUserBody, CreateOfframpsBody, CreateInvoiceBody].map((schema) =>
  compileCheck(schema, "body"),
);
function readJson(bytes: Buffer): void {
  const { value } = parseJsonBody(bytes);
  canonicalJson(value);
  for (const check of checks) check(value);
}

const json: [string, (size: number) => string][] = [
  ["strings of NULs", (size) => list('"\\u0000"', size)],
  ["one string of NULs", (size) => `"${repeat("\\u0000", size)}"`],
  ["a name of NULs", (size) => `{"${repeat("\\u0000", size)}":1}`],
  ["names of NULs", (size) => list('{"\\u0000":1}', size)],
  ["numbers too large", (size) => list("1e999", size)],
  ["numbers too long", (size) => list("9007199254740993", size)],
  ["one number without end", (size) => `[${repeat("9", size)}]`],
  ["decimals without end", (size) => `[0.${repeat("1", size)}]`],
  ["zeros without end", (size) => `[0.${repeat("0", size)}1]`],
  ["exponents without end", (size) => `[1e${repeat("9", size)}]`],
  ["signs", (size) => `[1${repeat("+-", size)}]`],
  ["quotes and backslashes", (size) => `"${repeat('\\"', size)}"`],
  ["an open string", (size) => `"${repeat("x", size)}`],
  ["open strings", (size) => repeat('"\\u0000', size)],
  ["names", (size) => members(size, "1")],
  ["unknown fields of a user", (size) => `{"user":${members(size, "{}")}}`],
  ["names under a long name", (size) => `{"${repeat("n", size)}":${members(size, '"\\u0000"')}}`],
  [
    "equal names",
    (size) =>
      `{${Array(Math.floor(size / 4))
        .fill('"":1')
        .join(",")}}`,
  ],
  ["deep arrays", (size) => list("[[[[[[[[1e999]]]]]]]]", size)],
  ["offramps", (size) => `{"offramps":${list("{}", size)}}`],
  ["items of an invoice", (size) => `{"invoiceItems":${list('{"x":1}', size)}}`],
  ["brackets", (size) => repeat("[", size)],
  ["commas", (size) => repeat(",", size)],
  ["blanks", (size) => `[${repeat(" ", size)}]`],
];

describe("JSON is read in linear time", () => {
  it.each(json)("%s", async (_name, make) => {
    const times = await growth((size) => Buffer.from(make(size)), readJson, 64 * 1024);
    expect(times).toBeLessThan(GROWTH_MAX);
  });
});

/** When each problem was formatted, it was ten times; on a busy machine nearly four were seen. */
const TIMES_MAX = 6;

it("a body with tens of thousands of problems costs little more than reading it", async () => {
  const item = `{${Array.from({ length: 99 }, (_, index) => `"unknown_${index}":0`).join(",")}}`;
  const bytes = Buffer.from(`{"offramps":[${Array(490).fill(item).join(",")}]}`);
  const read = await fastest(bytes, parseJsonBody);
  const check = await fastest(bytes, (input: Buffer) => checks[1]!(parseJsonBody(input).value));
  expect(check).toBeLessThan(TIMES_MAX * read);
});

const forms: [string, (size: number) => string][] = [
  ["fields", (size) => repeat("a=1&", size)],
  ["separators", (size) => repeat("&", size)],
  ["equal signs", (size) => repeat("=", size)],
  ["escapes", (size) => repeat("%41", size)],
  ["broken escapes", (size) => repeat("%", size)],
  ["plus signs", (size) => repeat("+", size)],
];

describe("a form is read in linear time", () => {
  it.each(forms)("%s", async (_name, make) => {
    const times = await growth(make, (text: string) => parseForm(text), 32 * 1024);
    expect(times).toBeLessThan(GROWTH_MAX);
  });
});

const BOUNDARY = "b".repeat(60);
const PART = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"\r\n\r\n`;
/** Their cost is that of the pieces, not of the bytes. */
const multipart: [string, (size: number) => string, chunk: number, size?: number][] = [
  ["a plain file", (size) => repeat("x", size), 16 * 1024],
  ["line breaks", (size) => repeat("\r\n", size), 16 * 1024],
  ["almost boundaries", (size) => repeat(`\r\n--${BOUNDARY.slice(1)}`, size), 16 * 1024],
  [
    "almost boundaries in small pieces",
    (size) => repeat(`\r\n--${BOUNDARY.slice(1)}`, size),
    7,
    8 * 1024,
  ],
  ["single bytes", (size) => repeat("x", size), 1, 4 * 1024],
];

async function readMultipart({ bytes, chunk }: { bytes: Buffer; chunk: number }): Promise<void> {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
  }
  for await (const _ of readOnePart(pieces(), BOUNDARY, "file"));
}

describe("multipart is read in linear time", () => {
  it.each(multipart)("%s", async (_name, make, chunk, smallest = 32 * 1024) => {
    const body = (size: number) => ({
      bytes: Buffer.from(`${PART}${make(size)}\r\n--${BOUNDARY}--\r\n`),
      chunk,
    });
    expect(await growth(body, readMultipart, smallest)).toBeLessThan(GROWTH_MAX);
  });

  it.each([
    ["blanks of a content type", (size: number) => `multipart/form-data${repeat(" ", size)}x`],
    ["parameters", (size: number) => `multipart/form-data${repeat("; a=b", size)}`],
    ["open quotes", (size: number) => `multipart/form-data; a="${repeat('\\"', size)}`],
    ["blanks of parameters", (size: number) => `multipart/form-data;${repeat(" ", size)}a`],
    ["names", (size: number) => `multipart/form-data; ${repeat("a", size)}`],
  ])("%s", async (_name, make) => {
    const times = await growth(make, (text: string) => readBoundary(text), 64 * 1024);
    expect(times).toBeLessThan(GROWTH_MAX);
  });
});

it("an amount is read in linear time", async () => {
  for (const digit of ["9", "0", "1.", "0.0"]) {
    const make = (size: number) => repeat(digit, size);
    const times = await growth(make, (text: string) => parseAmount(text, 2), 128 * 1024);
    expect(times).toBeLessThan(GROWTH_MAX);
  }
});
