import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * A key service with two keys, as an operator could write it; a file contains the `current` one.
 */
const PROGRAM = `#!${process.execPath}
const { createCipheriv, createDecipheriv, createHash, randomBytes } = require("node:crypto");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const keyOf = (id) => {
  if (!["one", "two"].includes(id)) throw new Error("there is no key " + id);
  return createHash("sha256").update(id).digest();
};
const { action, key_id, plaintext, ciphertext } = JSON.parse(readFileSync(0, "utf8"));
const answer = {};
if (action === "current") {
  answer.key_id = readFileSync(join(__dirname, "current"), "utf8");
} else if (action === "wrap") {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", keyOf(key_id), nonce);
  const body = Buffer.concat([cipher.update(plaintext, "base64"), cipher.final()]);
  answer.ciphertext = Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64");
} else {
  const bytes = Buffer.from(ciphertext, "base64");
  const cipher = createDecipheriv("aes-256-gcm", keyOf(key_id), bytes.subarray(0, 12));
  cipher.setAuthTag(bytes.subarray(12, 28));
  const body = Buffer.concat([cipher.update(bytes.subarray(28)), cipher.final()]);
  answer.plaintext = body.toString("base64");
}
console.log(JSON.stringify(answer));
`;

export async function createKmsProgram() {
  const directory = await mkdtemp(join(tmpdir(), "sliproad-kms-"));
  const path = join(directory, "kms.cjs");
  await writeFile(path, PROGRAM);
  await chmod(path, 0o700);
  const setCurrent = (key_id: "one" | "two") => writeFile(join(directory, "current"), key_id);
  await setCurrent("one");
  return { directory, path, setCurrent };
}
