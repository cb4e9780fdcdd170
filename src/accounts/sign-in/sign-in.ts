import {
  type AttemptDeps,
  type Attempts,
  createAttempts,
} from "../../platform/attempts/attempts.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import type { RateLimit } from "../../platform/http/rate-limit.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import { hashEmail } from "../person-email.ts";
import {
  deleteExpiredSessions,
  deleteSession,
  findOperator,
  findPerson,
  listMemberships,
  type Membership,
  type PersonRow,
} from "../store.ts";
import { verifyPassword } from "./passwords.ts";
import { csrfOf, hashToken, recordSession, startSession } from "./sessions.ts";

export type SignInDeps = AttemptDeps & { limits: SignInLimits };

type SignInLimits = {
  by_address: Attempts;
  by_email_and_address: Attempts;
  /** Counts failures only. */
  by_email: Attempts;
};

type SignInInput = {
  email: string;
  password: string;
  /** The client's IP address. */
  address: string;
  /** The session this browser had before; signing in ends it. */
  previous_token: string | undefined;
  /** Real time, not the sandbox clock. */
  now: Date;
};

type SignedIn = { token: string; csrf: string };

const ATTEMPTS_BY_ADDRESS_MAX = 30;
const ATTEMPTS_BY_EMAIL_AND_ADDRESS_MAX = 10;
/** High, so that a single IP address cannot lock a person out. */
const FAILURES_BY_EMAIL_MAX = 200;
const ATTEMPTS_WINDOW_MS = MINUTE_MS;
const EXPIRED_PER_SIGN_IN_MAX = 1_000;

export function createSignInLimits(deps: AttemptDeps): SignInLimits {
  const limit = (purpose: string, attempts_max: number) =>
    createAttempts(deps, { purpose, limit: attempts_max, window_ms: ATTEMPTS_WINDOW_MS });
  return {
    by_address: limit("sign-in by address", ATTEMPTS_BY_ADDRESS_MAX),
    by_email_and_address: limit("sign-in by both", ATTEMPTS_BY_EMAIL_AND_ADDRESS_MAX),
    by_email: limit("sign-in by e-mail", FAILURES_BY_EMAIL_MAX),
  };
}

/**
 * Starts a session, in the person's oldest account. An unknown e-mail and a wrong password get
 * the same refusal after the same work: one password hash, one transaction with one audit entry.
 */
export async function signIn(deps: SignInDeps, input: SignInInput): Promise<SignedIn | Refusal> {
  const { by_address, by_email_and_address, by_email } = deps.limits;
  const email_index = hashEmail(deps.index_key, input.email);
  const email = email_index.toString("base64");
  // The IP address first: one over its limit must not use up the attempts of an e-mail.
  const from_address = await by_address.take(input.address);
  if (!from_address.allowed) return tooManyAttempts(from_address);
  const taken = await by_email_and_address.take(`${email} ${input.address}`);
  if (!taken.allowed) return tooManyAttempts(taken);
  const begun = await by_email.begin(email);
  if (!begun.allowed) return tooManyAttempts(begun);
  let has_failed = false;
  try {
    const outcome = await verify(deps, input, email_index);
    has_failed = outcome instanceof Refusal;
    return outcome;
  } finally {
    await begun.end(has_failed);
  }
}

async function verify(
  { database, index_key, clock }: SignInDeps,
  input: SignInInput,
  email_index: Buffer,
): Promise<SignedIn | Refusal> {
  const person = await findPerson(database, email_index);
  const is_verified = await verifyPassword(person?.password_hash ?? null, input.password);
  return database.transaction(async (tx) => {
    // No person has FIRST_ID: an unknown e-mail causes the same queries.
    const [membership] = await listMemberships(tx, person?.id ?? FIRST_ID, 1);
    if (!is_verified || !person || !membership) {
      await recordFailure(tx, person, membership, clock.now());
      return new Refusal("unauthorized", "Incorrect e-mail or password. Check both and try again.");
    }
    const member = { account_id: membership.account_id, person_id: person.id };
    const token = startSession(tx, index_key, member, input.now);
    if (input.previous_token) deleteSession(tx, hashToken(index_key, input.previous_token));
    deleteExpiredSessions(tx, input.now, EXPIRED_PER_SIGN_IN_MAX);
    recordSession(tx, "session.create", member, clock.now());
    return { token, csrf: csrfOf(index_key, token) };
  });
}

export function tooManyAttempts({ reset_seconds }: RateLimit): Refusal {
  const message = `Too many attempts. Wait ${reset_seconds} seconds, then try again.`;
  return new Refusal("too_many_requests", message, reset_seconds);
}

/** An attempt that belongs to no account is recorded for the operator. */
async function recordFailure(
  tx: Transaction,
  person: PersonRow | undefined,
  membership: Membership | undefined,
  now: Date,
): Promise<void> {
  // Always queried, so that timing does not reveal whether the e-mail is known.
  const operator = await findOperator(tx);
  const account_id = membership?.account_id ?? operator?.id;
  if (account_id === undefined) return;
  recordSession(tx, "session.refuse", { account_id, person_id: person?.id ?? "unknown" }, now);
}
