import { randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import { SECOND_MS } from "../../platform/durations.ts";

/**
 * One-time codes of RFC 6238 as all authenticator apps compute them: SHA-1, six digits, 30 seconds.
 * A code of the step before or after is accepted, since clocks of phones differ: it is valid for
 * up to 90 seconds, but only once.
 */
const PERIOD_S = 30;
const WINDOW = 1;
const SEED_BYTES = 20;
const ISSUER = "Sliproad";

export function makeSeed(): Buffer {
  return randomBytes(SEED_BYTES);
}

/** The time step of a correct code; null for a wrong one. `now` is real time. */
export function stepOfCode(seed: Buffer, code: string, now: Date): bigint | null {
  // The library throws on characters of several bytes.
  if (!/^\d{6}$/.test(code)) return null;
  const timestamp = now.getTime();
  const delta = totpOf(seed, "").validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? null : BigInt(Math.floor(timestamp / SECOND_MS / PERIOD_S) + delta);
}

/** What an authenticator app reads from the QR code. */
export function totpUri(seed: Buffer, email: string): string {
  return totpOf(seed, email).toString();
}

/** The seed as people type it, in groups of four. */
export function seedText(seed: Buffer): string {
  return secretOf(seed)
    .base32.match(/.{1,4}/g)!
    .join(" ");
}

function totpOf(seed: Buffer, label: string): TOTP {
  return new TOTP({ issuer: ISSUER, label, secret: secretOf(seed), period: PERIOD_S });
}

function secretOf(seed: Buffer): Secret {
  // A copy: a small Buffer shares its memory with others.
  return new Secret({ buffer: Uint8Array.from(seed).buffer });
}
