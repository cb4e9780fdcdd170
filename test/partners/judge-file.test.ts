import { expect, test } from "vitest";
import { judgeFile, MEDIA_TYPES } from "../../src/partners/files/judge-file.ts";

test.each([
  ["pdf", Buffer.from("%PDF-1.7\n"), "application/pdf"],
  ["jpg", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0x10]), "image/jpeg"],
  ["jpg", Buffer.from([0xff, 0xd8, 0xff, 0xdb]), "image/jpeg"],
  ["png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]), "image/png"],
] as const)("knows a %s by its first bytes", (type, head, media_type) => {
  expect(judgeFile(head)).toBe(type);
  expect(MEDIA_TYPES[type]).toBe(media_type);
});

test("recognizes nothing else", () => {
  const others = [
    "",
    "%PDF",
    " %PDF-1.7",
    "%pdf-1.7",
    "\xff\xd8",
    "\x89PNG\r\n\x1a",
    "\x89PNG\n\x1a\n...",
    "GIF89a",
    "PK\x03\x04",
    "<html>",
    "MZ",
  ];
  for (const text of others) expect(judgeFile(Buffer.from(text, "latin1")), text).toBe(null);
});
