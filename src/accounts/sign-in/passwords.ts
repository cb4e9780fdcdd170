import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { Refusal } from "../../platform/errors.ts";

/** OWASP's recommendation for argon2id: 19 MiB, two passes, parallelism of one. */
const COST: Cost = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Each computation uses COST.memory and a thread: excess requests wait, then are refused. */
const AT_ONCE_MAX = 4;
/** Of strangers, and of people who are signed in or use a device that is known for theirs. */
const WAITING_MAX = 64;
const RETRY_AFTER_SECONDS = 5;

const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

type Cost = { memory: number; passes: number; parallelism: number };

const argon2Async = promisify(argon2);
// Verified against when the person is unknown, so that the answer takes equally long.
const DUMMY_HASH = toPhc(COST, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));

let running = 0;
type Waiting = (() => void)[];
const strangers: Waiting = [];
const known: Waiting = [];

/** The hash in PHC string format, which includes parameters and salt. */
export async function hashPassword(password: string, is_known = false): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, COST, HASH_BYTES, is_known ? known : strangers);
  return toPhc(COST, salt, hash);
}

/**
 * A null hash means the person does not exist: returns false after the same work. Those who are
 * known come before strangers, however many these are.
 */
export async function verifyPassword(
  password_hash: string | null,
  password: string,
  is_known = false,
): Promise<boolean> {
  const match = PHC.exec(password_hash ?? DUMMY_HASH);
  if (!match) throw new Error("a stored password hash is not argon2id in PHC format");
  const [memory, passes, parallelism] = match.slice(1, 4).map(Number) as [number, number, number];
  const expected = Buffer.from(match[5]!, "base64");
  const salt = Buffer.from(match[4]!, "base64");
  const cost = { memory, passes, parallelism };
  const actual = await derive(password, salt, cost, expected.length, is_known ? known : strangers);
  return timingSafeEqual(actual, expected) && password_hash !== null;
}

function derive(
  password: string,
  salt: Buffer,
  cost: Cost,
  tagLength: number,
  waiting: Waiting,
): Promise<Buffer> {
  // Keyboards differ in how they compose accented letters; NFKC makes them equal.
  const message = Buffer.from(password.normalize("NFKC"));
  const parameters = { message, nonce: salt, tagLength, ...cost };
  return inTurn(waiting, () => argon2Async("argon2id", parameters));
}

async function inTurn<Result>(waiting: Waiting, work: () => Promise<Result>): Promise<Result> {
  if (running < AT_ONCE_MAX) running += 1;
  else if (waiting.length < WAITING_MAX) await new Promise<void>((go) => waiting.push(go));
  else throw new Refusal("unavailable", undefined, RETRY_AFTER_SECONDS);
  try {
    return await work();
  } finally {
    // Hand the slot to the next waiting call; free it only when none waits.
    const next = known.shift() ?? strangers.shift();
    if (next) next();
    else running -= 1;
  }
}

function toPhc({ memory, passes, parallelism }: Cost, salt: Buffer, hash: Buffer): string {
  const text = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(salt)}$${text(hash)}`;
}
