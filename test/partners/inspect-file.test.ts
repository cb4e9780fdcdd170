import { Readable } from "node:stream";
import { expect, it, vi } from "vitest";
import { inspectFile } from "../../src/partners/files/inspect-file.ts";
import type { FileType } from "../../src/partners/files/judge-file.ts";
import { jpeg, pdf, png, pngOf } from "../kyc/kyc-fixture.ts";

const inspect = (type: FileType, bytes: Buffer, part = bytes.length) => {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += part) parts.push(bytes.subarray(at, at + part));
  return inspectFile(type, Readable.from(parts), "one");
};

it.each([
  ["png", png()],
  ["jpg", jpeg()],
  ["pdf", pdf()],
] as const)("takes a whole %s, in whatever pieces it comes", async (type, bytes) => {
  for (const part of [1, 7, 1000, bytes.length]) {
    expect(await inspect(type, bytes, part)).toBeNull();
  }
});

it.each([
  ["png", png()],
  ["jpg", jpeg()],
  ["pdf", pdf()],
] as const)("finds out a %s that was cut, wherever it was", async (type, bytes) => {
  for (let length = 1; length < bytes.length - 1; length += 3) {
    expect(await inspect(type, bytes.subarray(0, length), 100), String(length)).not.toBeNull();
  }
});

it("accepts a picture with a camera's data after its end", async () => {
  expect(await inspect("jpg", Buffer.concat([jpeg(), Buffer.alloc(200_000, 7)]), 1000)).toBeNull();
});

it("refuses pictures that are too small or claim an absurd size", async () => {
  expect(await inspect("png", png("", 99, 500))).toBe("too_small");
  expect(await inspect("jpg", jpeg(300, 20))).toBe("too_small");
  expect(await inspect("jpg", jpeg(60_000, 500))).toBe("malformed");
});

it("refuses a picture with one changed byte", async () => {
  const changed = Buffer.from(png());
  const at = changed.indexOf("IDAT") + 10;
  changed[at] = changed[at]! ^ 1;
  expect(await inspect("png", changed, 50)).toBe("malformed");
});

it("refuses a JPG without its decoding tables", async () => {
  const whole = jpeg();
  const table = whole.indexOf(Buffer.from([0xff, 0xdb]));
  const without = Buffer.concat([whole.subarray(0, table), whole.subarray(table + 69)]);
  expect(await inspect("jpg", without)).toBe("malformed");
});

it("refuses data that only begins like a picture", async () => {
  expect(await inspect("png", Buffer.concat([png().subarray(0, 8), Buffer.alloc(500)]))).toBe(
    "malformed",
  );
  expect(await inspect("jpg", Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(500)]))).toBe(
    "malformed",
  );
});

it("refuses a PNG of too many pixels before any of them is decompressed", async () => {
  const parts: number[] = [];
  const content = async function* () {
    for (const part of [33, 100_000, 100_000]) {
      parts.push(part);
      yield part === 33
        ? pngOf(Buffer.alloc(0), "", 12_000, 11_500).subarray(0, 33)
        : Buffer.alloc(part);
    }
  };
  expect(await inspectFile("png", content(), "one")).toBe("malformed");
  expect(parts).toEqual([33]);
});

it("decompresses two PNGs at a time; the others wait", async () => {
  const begun: number[] = [];
  const opened = Promise.withResolvers<void>();
  const slowly = async function* (number: number) {
    begun.push(number);
    await opened.promise;
    yield png();
  };
  const results = [1, 2, 3].map((number) =>
    inspectFile("png", slowly(number), `account ${number}`),
  );
  await expect.poll(() => begun).toEqual([1, 2]);
  expect(await inspect("jpg", jpeg())).toBeNull();
  opened.resolve();
  expect(await Promise.all(results)).toEqual([null, null, null]);
  expect(begun).toEqual([1, 2, 3]);
});

/** The minimum of three measurements, since other load only adds to them. */
async function processorMs(type: FileType, bytes: Buffer): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    const before = process.cpuUsage();
    await inspect(type, bytes, 64 * 1024);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

const MB = 1024 * 1024;
const fill = (head: Buffer, with_bytes: string | number, size: number) =>
  Buffer.concat([head, Buffer.alloc(size, with_bytes)]);

it.each<[string, FileType, (size: number) => Buffer]>([
  ["JPG of FF", "jpg", (size) => fill(Buffer.from([0xff, 0xd8]), 0xff, size)],
  ["JPG without an end", "jpg", (size) => fill(jpeg().subarray(0, -2), 0xff, size)],
  ["PNG of empty chunks", "png", (size) => fill(png().subarray(0, 33), 0, size)],
  ["PDF of digits", "pdf", (size) => fill(Buffer.from("%PDF-1.7"), "1 1 ", size)],
  ["PDF of spaces", "pdf", (size) => fill(Buffer.from("%PDF-1.7 /Encrypt 1 1"), " ", size)],
])("reads a %s in linear time", async (_name, type, make) => {
  const half_ms = await processorMs(type, make(2 * MB));
  const whole_ms = await processorMs(type, make(4 * MB));
  expect(whole_ms).toBeLessThan(1_000);
  // A square would take ten seconds; a busy machine adds some hundred milliseconds.
  expect(whole_ms).toBeLessThan(3 * half_ms + 600);
});

it("a picture that waits too long is refused and closed; accounts do not wait for each other", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const bytes = png();
    const held = new Readable({ read() {} });
    const first = inspectFile("png", held, "one");
    const waiting = Readable.from([bytes]);
    const second = inspectFile("png", waiting, "one");
    const refused = expect(second).rejects.toMatchObject({ code: "unavailable" });
    expect(await inspectFile("png", Readable.from([bytes]), "two")).toBeNull();
    await vi.advanceTimersByTimeAsync(31_000);
    await refused;
    expect(waiting.destroyed).toBe(true);
    held.push(bytes);
    held.push(null);
    expect(await first).toBeNull();
  } finally {
    vi.useRealTimers();
  }
});
