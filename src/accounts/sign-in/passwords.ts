import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { createFairTurns } from "../../platform/commands/fair-turns.ts";
import { currentCaller } from "../../platform/db/caller-context.ts";
import { Refusal } from "../../platform/errors.ts";
import { Shares } from "../../platform/shares.ts";

/** OWASP's recommendation for argon2id: 19 MiB, two passes, parallelism of one. */
const COST: Cost = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Each computation uses COST.memory and a thread. */
const AT_ONCE_MAX = 4;
/** More strangers are refused; one network has its share. */
const STRANGERS_MAX = 64;
const RETRY_AFTER_SECONDS = 5;

const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

type Cost = { memory: number; passes: number; parallelism: number };

const argon2Async = promisify(argon2);
// Verified against when the person is unknown, so that the answer takes equally long.
const DUMMY_HASH = toPhc(COST, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));

/**
 * Accounts take turns: a member who signs in without end delays their own account. All strangers
 * are one more.
 */
const inTurn = createFairTurns(AT_ONCE_MAX);
const STRANGERS = "strangers";
const waiting = new Shares(STRANGERS_MAX);

/** The account of whoever is signed in or known (`sign-in.ts`); null for a stranger. */
type PasswordTurn = string | null;

/** The hash in PHC string format, which includes parameters and salt. */
export async function hashPassword(password: string, turn: PasswordTurn = null): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, COST, HASH_BYTES, turn);
  return toPhc(COST, salt, hash);
}

/** A null hash means the person does not exist: returns false after the same work. */
export async function verifyPassword(
  password_hash: string | null,
  password: string,
  turn: PasswordTurn = null,
): Promise<boolean> {
  const match = PHC.exec(password_hash ?? DUMMY_HASH);
  if (!match) throw new Error("a stored password hash is not argon2id in PHC format");
  const [memory, passes, parallelism] = match.slice(1, 4).map(Number) as [number, number, number];
  const expected = Buffer.from(match[5]!, "base64");
  const salt = Buffer.from(match[4]!, "base64");
  const cost = { memory, passes, parallelism };
  const actual = await derive(password, salt, cost, expected.length, turn);
  return timingSafeEqual(actual, expected) && password_hash !== null;
}

async function derive(
  password: string,
  salt: Buffer,
  cost: Cost,
  tagLength: number,
  turn: PasswordTurn,
): Promise<Buffer> {
  // Keyboards differ in how they compose accented letters; NFKC makes them equal.
  const message = Buffer.from(password.normalize("NFKC"));
  const parameters = { message, nonce: salt, tagLength, ...cost };
  const work = () => argon2Async("argon2id", parameters);
  if (turn !== null) return inTurn(turn, work);
  const network = currentCaller()?.name ?? "";
  if (!waiting.take(network)) throw new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
  try {
    return await inTurn(STRANGERS, work);
  } finally {
    waiting.leave(network);
  }
}

function toPhc({ memory, passes, parallelism }: Cost, salt: Buffer, hash: Buffer): string {
  const text = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(salt)}$${text(hash)}`;
}
