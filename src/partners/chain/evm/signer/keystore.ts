import { createCipheriv, createDecipheriv, randomBytes, scrypt } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { promisify } from "node:util";
import { type Keys, openKeys } from "./keys.ts";

/** What the file says openly, besides the encrypted seed. It is authenticated with it. */
type Facts = { wallet: string; treasury: string; scrypt: { n: number; r: number; p: number } };
type Keystore = { sliproad_keystore: 1 } & Facts &
  Record<"salt" | "nonce" | "seed" | "tag", string>;

const PASSPHRASE_LENGTH_MIN = 12;
const COST = { n: 2 ** 17, r: 8, p: 1 };
/** A file with another cost is not one of ours: less is weak, more would exhaust the memory. */
const COSTS_N = [COST.n, 2 ** 18, 2 ** 19, 2 ** 20];
const OWNER_ONLY = 0o600;
const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);

/** Creates a file with the encrypted seed. Never overwrites one: it may be the only copy. */
export async function createKeystore(
  path: string,
  seed: Uint8Array,
  passphrase: string,
): Promise<void> {
  if (passphrase.length < PASSPHRASE_LENGTH_MIN) {
    throw new Error(`the passphrase must have at least ${PASSPHRASE_LENGTH_MIN} characters`);
  }
  const { wallet, treasury } = openKeys(seed);
  const facts: Facts = { wallet, treasury, scrypt: COST };
  const [salt, nonce] = [randomBytes(32), randomBytes(12)];
  const key = await keyOf(passphrase, salt, COST);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(aadOf(facts));
  const encrypted = Buffer.concat([cipher.update(seed), cipher.final()]);
  const hex = { salt, nonce, seed: encrypted, tag: cipher.getAuthTag() };
  const texts = Object.entries(hex).map(([name, bytes]) => [name, bytes.toString("hex")]);
  const keystore = { sliproad_keystore: 1, ...facts, ...Object.fromEntries(texts) };
  const file = openSync(path, "wx", OWNER_ONLY);
  try {
    writeSync(file, `${JSON.stringify(keystore, null, 2)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Throws the end of a sentence about the file. */
export async function openKeystore(path: string, passphrase: string): Promise<Keys> {
  const { wallet, treasury, scrypt: cost, ...secret } = readKeystore(path);
  const bytes = (name: "salt" | "nonce" | "seed" | "tag") => Buffer.from(secret[name], "hex");
  const key = await keyOf(passphrase, bytes("salt"), cost);
  const decipher = createDecipheriv("aes-256-gcm", key, bytes("nonce"), { authTagLength: 16 })
    .setAAD(aadOf({ wallet, treasury, scrypt: cost }))
    .setAuthTag(bytes("tag"));
  try {
    return openKeys(Buffer.concat([decipher.update(bytes("seed")), decipher.final()]));
  } catch {
    throw new Error("cannot be decrypted: the passphrase is wrong, or the file was changed");
  }
}

function readKeystore(path: string): Keystore {
  let keystore: Keystore;
  try {
    keystore = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    const { code = "no JSON" } = error as NodeJS.ErrnoException;
    throw new Error(`cannot be read (${code})`);
  }
  const { sliproad_keystore, salt, nonce, seed, tag, scrypt: cost } = keystore;
  const lengths: [unknown, number][] = [
    ...([
      [salt, 32],
      [nonce, 12],
    ] satisfies [unknown, number][]),
    ...([
      [seed, 64],
      [tag, 16],
    ] satisfies [unknown, number][]),
  ];
  const are_bytes = lengths.every(
    ([text, bytes]) =>
      typeof text === "string" && /^[0-9a-f]*$/.test(text) && text.length === bytes * 2,
  );
  const is_cost = COSTS_N.includes(cost?.n) && cost.r === COST.r && cost.p === COST.p;
  if (sliproad_keystore === 1 && are_bytes && is_cost) return keystore;
  throw new Error("is not a keystore; create one with sliproad wallet new --keystore");
}

function keyOf(passphrase: string, salt: Buffer, { n, r, p }: Facts["scrypt"]): Promise<Buffer> {
  // The same passphrase typed on another system may be composed of other code points.
  const text = passphrase.normalize("NFKC");
  return derive(text, salt, 32, { N: n, r, p, maxmem: 256 * n * r });
}

function aadOf({ wallet, treasury, scrypt: { n, r, p } }: Facts): Buffer {
  return Buffer.from(JSON.stringify(["sliproad keystore 1", wallet, treasury, n, r, p]));
}
