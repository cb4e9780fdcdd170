import fc from "fast-check";
import { expect, test } from "vitest";
import { AnswerParser } from "../../src/partners/outbound-http/answer-parser.ts";
import type { AnswerHead } from "../../src/partners/outbound-http/outbound-request.ts";

type Read = { head: AnswerHead | null; body: string; is_over: boolean; is_reusable: boolean };

/** Feeds an answer in the given pieces, then, when asked to, the end of the connection. */
function read(pieces: readonly (string | Buffer)[], closes = false): Read {
  const chunks: Buffer[] = [];
  let head: AnswerHead | null = null;
  let ends = 0;
  const parser = new AnswerParser({
    onHead: (came) => {
      expect(head, "one head").toBeNull();
      head = came;
    },
    onData: (chunk) => {
      expect(head, "first the head").not.toBeNull();
      expect(ends, "nothing after the end").toBe(0);
      chunks.push(Buffer.from(chunk));
    },
    onEnd: () => {
      ends += 1;
    },
  });
  for (const piece of pieces) {
    // As the connection does: who is told of the end asks no more.
    if (ends === 0) parser.feed(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece);
  }
  if (closes && ends === 0) parser.end();
  expect(ends).toBeLessThanOrEqual(1);
  const body = Buffer.concat(chunks).toString("latin1");
  return { head, body, is_over: ends === 1, is_reusable: parser.is_reusable };
}

const OK = "HTTP/1.1 200 OK\r\n";

test("reads what any proper answer says, in whatever pieces it comes", () => {
  const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,10}$/).map((name) => `x-${name}`);
  const value = fc.stringMatching(/^([\x21-\x7e]([\x20-\x7e]{0,20}[\x21-\x7e])?)?$/);
  const answers = fc.record({
    interim: fc.array(fc.constantFrom(100, 102, 103, 199), { maxLength: 3 }),
    status: fc.constantFrom(200, 201, 204, 301, 304, 400, 410, 429, 500, 599),
    headers: fc.dictionary(token, value, { maxKeys: 5 }),
    body: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
    framing: fc.constantFrom("length", "chunked", "close"),
    newline: fc.constantFrom("\r\n", "\n"),
    cuts: fc.array(fc.nat(2_000), { maxLength: 30 }),
  });
  fc.assert(
    fc.property(answers, ({ interim, status, headers, body, framing, newline, cuts }) => {
      const has_body = status !== 204 && status !== 304;
      const lines = Object.entries(headers).map(([name, text]) => `${name}: ${text}`);
      if (has_body && framing === "length") lines.push(`Content-Length: ${body.length}`);
      if (has_body && framing === "chunked") lines.push("transfer-encoding: Chunked");
      const content = framing === "chunked" ? chunked(body, newline) : body;
      const before = interim.map(
        (code) => `HTTP/1.1 ${code} Wait${newline}x: y${newline}${newline}`,
      );
      const head = [`HTTP/1.1 ${status} Said`, ...lines, "", ""].join(newline);
      const text = `${before.join("")}${head}${has_body ? content : ""}`;
      const got = read(inPieces(text, cuts), framing === "close");
      expect(got.head?.status).toBe(status);
      for (const [name, said] of Object.entries(headers)) {
        expect(got.head?.headers[name.toLowerCase()]).toContain(said);
      }
      expect(got.body).toBe(has_body ? body : "");
      expect(got.is_over).toBe(true);
      expect(got.is_reusable).toBe(!has_body || framing !== "close");
    }),
    { numRuns: 500 },
  );
});

test.each([
  ["it ends where it says", `${OK}content-length: 2\r\n\r\nok`, true],
  ["there is nothing to come", "HTTP/1.1 204 No\r\n\r\n", true],
  [
    "the last chunk came",
    `${OK}transfer-encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nt: u\r\n\r\n`,
    true,
  ],
  [
    "chunked is what it was coded last",
    `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    true,
  ],
  ["more came than it says", `${OK}content-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n`, false],
  ["it says both nothing and something", "HTTP/1.1 204 No\r\ncontent-length: 5\r\n\r\n", false],
  [
    "it says both nothing and chunks",
    "HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n",
    false,
  ],
  ["it will be closed", `${OK}connection: x, Close\r\ncontent-length: 0\r\n\r\n`, false],
  ["it is of the old version", "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", false],
  ["only closing ends it", `${OK}\r\nok`, false],
  ["it is coded in a way nobody knows", `${OK}transfer-encoding: gzip\r\n\r\nok`, false],
])("a connection is used again only where nobody can differ: %s", (name, text, is_reusable) => {
  for (const pieces of [[text], [...text]]) {
    const got = read(pieces, true);
    expect(got.is_over).toBe(true);
    // Byte by byte the end is told before what is too much comes, which the connection then sees.
    const is_told_before = name === "more came than it says" && pieces.length > 1;
    expect(got.is_reusable).toBe(is_reusable || is_told_before);
  }
});

test.each([
  "SSH-2.0-OpenSSH_9.9\r\n",
  "HTTP/2 200\r\n\r\n",
  "HTTP/1.1 20 OK\r\n\r\n",
  "HTTP/1.1  200 OK\r\n\r\n",
  "HTTP/1.1 099 OK\r\n\r\n",
  "HTTP/1.1 101 Switching\r\nupgrade: websocket\r\n\r\n",
  `${OK}no colon\r\n\r\n`,
  `${OK}a name: x\r\n\r\n`,
  `${OK}name : x\r\n\r\n`,
  `${OK}x: y\r\n folded\r\n\r\n`,
  `${OK}: x\r\n\r\n`,
  `${OK}x: a\0b\r\n\r\n`,
  `${OK}x: a\rb\r\n\r\n`,
  `${OK}x: a\r\r\n\r\n`,
  `${OK}x: \x0ba\r\n\r\n`,
  `${OK}transfer-encoding: \x0bchunked\r\n\r\n`,
  `${OK}content-length: 3\xa0\r\n\r\n`,
  `${OK}content-length: -1\r\n\r\n`,
  `${OK}content-length: 1e3\r\n\r\n`,
  `${OK}content-length: \r\n\r\n`,
  `${OK}content-length: 3\r\ncontent-length: 3\r\n\r\nabc`,
  `${OK}content-length: 9999999999999999\r\n\r\n`,
  `${OK}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n`,
  `${OK}transfer-encoding: chunked\r\n\r\nxyz\r\n`,
  `${OK}transfer-encoding: chunked\r\n\r\n-1\r\n`,
  `${OK}transfer-encoding: chunked\r\n\r\n\r\n`,
  `${OK}transfer-encoding: chunked\r\n\r\n2\r\nokay\r\n`,
  `${OK}transfer-encoding: chunked\r\n\r\n1000000000000\r\n`,
])("refuses what is no proper answer: %j", (text) => {
  for (const pieces of [[text], [...text]]) {
    expect(() => read(pieces)).toThrow(/not proper HTTP/);
  }
});

test.each([
  ["a status line", ["HTTP/1.1 200 ", "a"]],
  ["headers", [OK, "x: y\r\n"]],
  ["answers before the answer", ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"]],
  ["empty lines", ["\r\n", "\r\n"]],
  ["what follows a chunk's size", [`${OK}transfer-encoding: chunked\r\n\r\n1;`, "x"]],
  ["trailers", [`${OK}transfer-encoding: chunked\r\n\r\n0\r\n`, "x: y\r\n"]],
])("bears no endless %s", (_name, [first, more]) => {
  const pieces = [first!, ...Array.from({ length: 20_000 }, () => more!)];
  expect(() => read(pieces)).toThrow("too long");
});

test("reads small chunks together, and none that are mostly frames", () => {
  const head = `${OK}transfer-encoding: chunked\r\n\r\n`;
  let calls = 0;
  const parser = new AnswerParser({
    onHead: () => {},
    onData: () => {
      calls += 1;
    },
    onEnd: () => {},
  });
  parser.feed(Buffer.from(`${head}${"10\r\n0123456789abcdef\r\n".repeat(1_000)}`));
  expect(calls).toBe(1);
  expect(() => read([head, "1\r\nx\r\n".repeat(40_000)])).toThrow("too many chunks");
  const padded = `${head}${"0".repeat(20)}2;${"x".repeat(2_000)}\r\nok\r\n0\r\n\r\n`;
  expect(read([padded])).toMatchObject({ body: "ok", is_reusable: true });
});

test("a header with the name of an object's own changes nothing but the headers", () => {
  const { head } = read([`${OK}__proto__: a\r\nconstructor: b\r\nconstructor: c\r\n\r\n`]);
  expect(head!.headers).toEqual({ constructor: "b, c" });
  expect(Object.getPrototypeOf(head!.headers)).toBe(Object.prototype);
});

function chunked(body: string, newline: string): string {
  const chunks = body.match(/.{1,70}/gs) ?? [];
  const written = chunks.map((chunk) => `${chunk.length.toString(16)}${newline}${chunk}${newline}`);
  return `${written.join("")}0${newline}${newline}`;
}

function inPieces(text: string, cuts: readonly number[]): string[] {
  const at = [...new Set(cuts.filter((cut) => cut < text.length)), 0, text.length];
  at.sort((a, b) => a - b);
  return at.slice(1).map((end, index) => text.slice(at[index], end));
}
