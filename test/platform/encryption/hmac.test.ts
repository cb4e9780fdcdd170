import { createHmac, randomBytes, randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { hmacSha256 } from "../../../src/platform/encryption/hmac.ts";

const expected = (key: Buffer, message: string | Buffer) =>
  createHmac("sha256", key).update(message).digest();

test("an HMAC is Node's, for keys and messages of every length", () => {
  for (let length = 0; length < 200; length += 1) {
    const key = randomBytes(length);
    const message = randomBytes(randomInt(1_000));
    expect(hmacSha256(key, message)).toEqual(expected(key, message));
    const text = message.toString();
    expect(hmacSha256(key, text)).toEqual(expected(key, text));
  }
});

test("long messages have the same one, also where characters have three bytes", () => {
  const key = randomBytes(32);
  for (const length of [21_823, 21_824, 21_825, 65_471, 65_472, 65_473, 300_000]) {
    for (const character of ["a", "é", "€"]) {
      const text = character.repeat(length);
      expect(hmacSha256(key, text)).toEqual(expected(key, text));
      expect(hmacSha256(key, Buffer.from(text))).toEqual(expected(key, text));
    }
  }
});

test("a message does not change the one before", () => {
  const key = randomBytes(32);
  const first = hmacSha256(key, "first");
  hmacSha256(key, "second");
  expect(first).toEqual(expected(key, "first"));
});
