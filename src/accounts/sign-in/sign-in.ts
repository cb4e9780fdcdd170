import type { AttemptDeps } from "../../platform/attempts/attempts.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { Refusal } from "../../platform/errors.ts";
import { FIRST_ID } from "../../platform/ids.ts";
import { hashEmail } from "../person-email.ts";
import { existsFactor } from "../second-factor/store.ts";
import {
  findOperator,
  findPerson,
  listMemberships,
  lockPersonById,
  type Membership,
} from "../store.ts";
import { type Attempt, type SignInLimits, withinLimits } from "./attempt-limits.ts";
import { verifyPassword } from "./passwords.ts";
import type { SessionOrigin } from "./session-origin.ts";
import { deleteExpiredSessions, deleteSession } from "./session-store.ts";
import {
  AWAITING_FACTOR_MS,
  hashToken,
  type NewSession,
  recordSignInChange,
  type SessionSettings,
  sessionMs,
  startSession,
} from "./sessions.ts";

export type SignInDeps = AttemptDeps & {
  config: SessionSettings;
  limits: SignInLimits;
  public_url: () => string;
};

type SignInInput = Attempt & {
  password: string;
  origin: SessionOrigin;
  /** The session this browser had before; signing in ends it. */
  previous_token: string | undefined;
};

export type SignedIn = {
  token: string;
  lifetime_ms: number;
  /** True when the second factor is still to be given. */
  awaits_factor: boolean;
};

const EXPIRED_PER_SIGN_IN_MAX = 1_000;

/**
 * Starts a session, in the account that the person joined first. An unknown e-mail and a wrong
 * password get the same refusal after the same work: one password hash, one transaction with one
 * audit entry.
 */
export function signIn(deps: SignInDeps, input: SignInInput): Promise<SignedIn | Refusal> {
  return withinLimits(deps.limits, deps.index_key, input, (is_known) =>
    verify(deps, input, is_known),
  );
}

async function verify(
  { config, database, index_key, clock }: SignInDeps,
  input: SignInInput,
  is_known: boolean,
): Promise<SignedIn | Refusal> {
  const person = await findPerson(database, hashEmail(index_key, input.email));
  const turn = is_known && person ? await findPasswordTurn(database, person.id) : null;
  const is_verified = await verifyPassword(person?.password_hash ?? null, input.password, turn);
  return database.transaction(async (tx) => {
    // No person has FIRST_ID: an unknown e-mail causes the same queries.
    const person_id = person?.id ?? FIRST_ID;
    // A password that was changed meanwhile starts no session: the change has ended them all.
    const current = await lockPersonById(tx, person_id);
    const is_current = is_verified && current?.password_hash === person?.password_hash;
    const [membership] = await listMemberships(tx, person_id, 1);
    const awaits_factor = await existsFactor(tx, person_id);
    if (!is_current || !person || !membership) {
      await recordFailure(tx, person?.id, membership, clock.now());
      return new Refusal("unauthorized", "Incorrect e-mail or password. Check both and try again.");
    }
    const { account_id } = membership;
    const { origin } = input;
    const state = awaits_factor ? "awaiting_factor" : "active";
    const lifetime_ms = awaits_factor ? AWAITING_FACTOR_MS : sessionMs(config);
    const session = { account_id, person_id, state, origin, lifetime_ms } as const;
    const token = replaceSession(tx, index_key, session, input);
    const action = awaits_factor ? "session.password" : "session.create";
    recordSignInChange(tx, action, { account_id, person_id }, clock.now());
    return { token, lifetime_ms, awaits_factor };
  });
}

/**
 * Whose turn the password of a known person waits for: that of the account that they joined first,
 * which all of its members share, however many it invites.
 */
export async function findPasswordTurn(session: Session, person_id: string): Promise<string> {
  const [first] = await listMemberships(session, person_id, 1);
  return first?.account_id ?? person_id;
}

/** Starts a session instead of the one that the browser had, and deletes expired ones. */
export function replaceSession(
  tx: Transaction,
  index_key: Buffer,
  session: NewSession,
  { previous_token, now }: Pick<SignInInput, "previous_token" | "now">,
): string {
  const token = startSession(tx, index_key, session, now);
  if (previous_token) deleteSession(tx, hashToken(index_key, previous_token));
  deleteExpiredSessions(tx, now, EXPIRED_PER_SIGN_IN_MAX);
  return token;
}

/** An attempt that belongs to no account is recorded for the operator. */
export async function recordFailure(
  tx: Transaction,
  person_id: string | undefined,
  membership: Membership | undefined,
  now: Date,
  detail: Record<string, string> = {},
): Promise<void> {
  // Always queried, so that timing does not reveal whether the e-mail is known.
  const operator = await findOperator(tx);
  const account_id = membership?.account_id ?? operator?.id;
  if (account_id === undefined) return;
  const member = { account_id, person_id: person_id ?? "unknown" };
  recordSignInChange(tx, "session.refuse", member, now, detail);
}
