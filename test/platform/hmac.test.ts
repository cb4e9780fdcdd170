import { createHmac, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { hmacKey, hmacSha256 } from "../../src/platform/encryption/hmac.ts";

test("is Node's own HMAC, whatever the lengths of key and message", () => {
  for (const key_bytes of [0, 1, 24, 63, 64, 65, 200]) {
    for (const body_bytes of [0, 1, 55, 56, 64, 1_000, 16_384, 70_000, 10]) {
      for (const head of ["", "id.1720605600.", "Zürich."]) {
        const [secret, body] = [randomBytes(key_bytes), randomBytes(body_bytes)];
        const expected = createHmac("sha256", secret).update(head).update(body);
        const encoding = body_bytes % 2 === 0 ? "hex" : "base64";
        const key = hmacKey(secret);
        expect(hmacSha256(key, head, body, encoding)).toBe(expected.digest(encoding));
      }
    }
  }
});
