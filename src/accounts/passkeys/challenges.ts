import { randomBytes } from "node:crypto";
import type { Transaction } from "../../platform/db/database.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import { claimChallengeRow, insertChallenge } from "./store.ts";

export const CHALLENGE_MS = 5 * MINUTE_MS;
const CHALLENGE_BYTES = 32;

/** What a passkey is asked for, and by which session or, before sign-in, browser. */
export type ChallengeUse = {
  purpose: "register" | "sign_in" | "second_factor" | "confirm" | "change";
  holder: string;
};

/** Stored as a hash that includes its use: it is not valid for any other. */
export function createChallenge(
  tx: Transaction,
  index_key: Buffer,
  use: ChallengeUse,
  now: Date,
): Buffer {
  const challenge = randomBytes(CHALLENGE_BYTES);
  const challenge_hash = hashChallenge(index_key, use, challenge.toString("base64url"));
  insertChallenge(tx, { challenge_hash, expires_at: new Date(now.getTime() + CHALLENGE_MS) });
  return challenge;
}

/** Uses up the challenge, whatever comes of it. False when it is not valid for this use. */
export function claimChallenge(
  tx: Transaction,
  index_key: Buffer,
  use: ChallengeUse,
  challenge: string,
  now: Date,
): Promise<boolean> {
  return claimChallengeRow(tx, hashChallenge(index_key, use, challenge), now);
}

function hashChallenge(index_key: Buffer, use: ChallengeUse, challenge: string): Buffer {
  return keyedHash(index_key, "passkey challenge", use.purpose, use.holder, challenge);
}
