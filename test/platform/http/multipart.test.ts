import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readBoundary, readOnePart } from "../../../src/platform/http/uploads/multipart.ts";

const BOUNDARY = "xBx";

test("any content in any chunking is returned unchanged, including near-boundaries", async () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom(
        "\r",
        "\n",
        "\r\n",
        "\r\n-",
        "\r\n--",
        "\r\n--x",
        "\r\n--xB",
        "--xBx",
        "\r\r\n--xB",
      )
      .map((text) => Buffer.from(text)),
  );
  const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), cuts, async (pieces, sizes) => {
      const content = Buffer.concat(pieces);
      // A sender chooses a boundary that does not occur in its content.
      fc.pre(
        !Buffer.concat([Buffer.from("\r\n"), content, Buffer.from("\r\n")]).includes(
          `\r\n--${BOUNDARY}`,
        ),
      );
      const body = Buffer.concat([
        Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"\r\n\r\n`),
        content,
        Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
      ]);
      expect((await collect(cut(body, sizes), BOUNDARY)).equals(content)).toBe(true);
    }),
    { numRuns: 1000 },
  );
});

test("reads the bodies that fetch and FormData send", async () => {
  const content = randomBytes(200_000);
  const data = new FormData();
  data.set("file", new Blob([content as never]), 'Rechnung "März"; name=x.pdf');
  const response = new Response(data);
  const boundary = readBoundary(response.headers.get("content-type")!);
  const body = Buffer.from(await response.arrayBuffer());
  expect((await collect(cut(body, [65_536]), boundary)).equals(content)).toBe(true);
});

test("any truncation of a valid body is refused", async () => {
  const text = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"\r\n\r\n%PDF-\r\n--${BOUNDARY}--`;
  const body = Buffer.from(text);
  for (let end = 0; end < body.length; end += 1) {
    const reading = collect(cut(body.subarray(0, end), [7]), BOUNDARY);
    await expect(reading, String(end)).rejects.toMatchObject({ code: "bad_request" });
  }
});

test("reads more only when its buffer is used up", async () => {
  let pulled = 0;
  const source = async function* () {
    yield Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"\r\n\r\n`);
    for (;;) {
      pulled += 1;
      yield Buffer.alloc(1000);
    }
  };
  const part = readOnePart(source(), BOUNDARY, "file");
  for (let taken = 1; taken <= 5; taken += 1) {
    await part.next();
    expect(pulled).toBeLessThanOrEqual(taken);
  }
  await part.return(undefined);
});

test("stopping early ends the source", async () => {
  let is_ended = false;
  const source = async function* () {
    try {
      yield Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"\r\n\r\nab`.repeat(9),
      );
      yield Buffer.alloc(10);
    } finally {
      is_ended = true;
    }
  };
  for await (const _ of readOnePart(source(), BOUNDARY, "file")) break;
  expect(is_ended).toBe(true);
});

async function collect(source: AsyncIterable<Buffer>, boundary: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of readOnePart(source, boundary, "file")) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* cut(body: Buffer, sizes: number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < body.length; turn += 1) {
    const end = at + sizes[turn % sizes.length]!;
    yield body.subarray(at, end);
    at = end;
  }
}
