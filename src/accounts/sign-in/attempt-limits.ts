import {
  type AttemptDeps,
  type Attempts,
  createAttempts,
} from "../../platform/attempts/attempts.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import type { RateLimit } from "../../platform/http/rate-limit.ts";
import { hashEmail } from "../person-email.ts";
import { readDevice } from "./known-device.ts";

/**
 * How many wrong passwords and codes may be tried. A device that the person has used before
 * (`known-device.ts`) has a count of its own and no other: neither strangers nor people in the same
 * network can lock its owner out. Everywhere else the owner can set a password by a link in a
 * mail, which makes the browser a known device.
 */
export type SignInLimits = {
  by_address: Attempts;
  by_email_and_address: Attempts;
  /** Counts failures only, from all devices that are not known. */
  by_email: Attempts;
  /** Counts failures only. */
  by_device: Attempts;
  /** Counts wrong codes of authenticator apps only, from all devices. */
  codes_by_email: Attempts;
  /** Counts how often a passkey was asked for, which stores a row. */
  challenges_by_address: Attempts;
};

/** Who tries to sign in, and from where. */
export type Attempt = {
  email: string;
  /** The client's network. */
  address: string;
  /** The cookie of a known device. */
  device_token: string | undefined;
  /** Real time, not the sandbox clock. */
  now: Date;
  /** It includes six digits, which can be guessed. */
  has_short_code?: boolean;
};

const ATTEMPTS_BY_ADDRESS_MAX = 30;
const ATTEMPTS_BY_EMAIL_AND_ADDRESS_MAX = 10;
const FAILURES_BY_EMAIL_MAX = 50;
/**
 * Three of a million codes are valid at a time: whoever knows the password guesses one within a
 * year with a chance of 2 %, at the rate of the other limits they would. Only they can reach it;
 * the owner still signs in with a passkey or a recovery code.
 */
const WRONG_CODES_BY_EMAIL_MAX = 20;
const FAILURES_BY_DEVICE_MAX = 20;
const CHALLENGES_BY_ADDRESS_MAX = 30;

export function createSignInLimits(deps: AttemptDeps): SignInLimits {
  const limit = (purpose: string, attempts_max: number, window_ms: number) =>
    createAttempts(deps, { purpose, limit: attempts_max, window_ms });
  return {
    by_address: limit("sign-in by address", ATTEMPTS_BY_ADDRESS_MAX, MINUTE_MS),
    by_email_and_address: limit("sign-in by both", ATTEMPTS_BY_EMAIL_AND_ADDRESS_MAX, MINUTE_MS),
    by_email: limit("sign-in by e-mail", FAILURES_BY_EMAIL_MAX, HOUR_MS),
    by_device: limit("sign-in by device", FAILURES_BY_DEVICE_MAX, HOUR_MS),
    codes_by_email: limit("short codes by e-mail", WRONG_CODES_BY_EMAIL_MAX, DAY_MS),
    challenges_by_address: limit("passkey challenges", CHALLENGES_BY_ADDRESS_MAX, MINUTE_MS),
  };
}

/** Runs one attempt within the limits; a refusal counts as a failure. */
export async function withinLimits<Outcome>(
  limits: SignInLimits,
  index_key: Buffer,
  attempt: Attempt,
  work: (is_known: boolean) => Promise<Outcome | Refusal>,
): Promise<Outcome | Refusal> {
  const { address, device_token, now } = attempt;
  const email = hashEmail(index_key, attempt.email).toString("base64");
  const device = readDevice(index_key, attempt.email, device_token, now);
  if (device === null) {
    // The IP address first: one over its limit must not use up the attempts of an e-mail.
    const from_address = await limits.by_address.take(address);
    if (!from_address.allowed) return tooManyAttempts(from_address);
    const taken = await limits.by_email_and_address.take(`${email} ${address}`);
    if (!taken.allowed) return tooManyAttempts(taken);
  }
  const begin = () => work(device !== null);
  const counted = attempt.has_short_code
    ? () => countFailure(limits.codes_by_email, email, begin)
    : begin;
  return device === null
    ? countFailure(limits.by_email, email, counted)
    : countFailure(limits.by_device, `${email} ${device}`, counted);
}

async function countFailure<Outcome>(
  attempts: Attempts,
  caller: string,
  work: () => Promise<Outcome | Refusal>,
): Promise<Outcome | Refusal> {
  const begun = await attempts.begin(caller);
  if (!begun.allowed) return tooManyAttempts(begun);
  let has_failed = false;
  try {
    const outcome = await work();
    has_failed = outcome instanceof Refusal;
    return outcome;
  } finally {
    await begun.end(has_failed);
  }
}

export function tooManyAttempts({ reset_seconds }: RateLimit): Refusal {
  const wait =
    reset_seconds > 120 ? `${Math.ceil(reset_seconds / 60)} minutes` : `${reset_seconds} seconds`;
  const message = `Too many attempts. Wait ${wait}, then try again.`;
  return new Refusal("too_many_requests", message, reset_seconds);
}
