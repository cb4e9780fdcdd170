import { setCaller } from "../../platform/db/caller-context.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";
import { SECOND_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import { createAccountTurns } from "../../platform/http/account-turns.ts";
import { newId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import type { User } from "../../users/model.ts";
import type { UserKey } from "../../users/store.ts";
import { EDITABLE, VISITS_MAX } from "../model.ts";
import { type LockedUser, lockKycUser } from "../move-kyc.ts";
import {
  findKycSession,
  findKycToken,
  findVisit,
  findVisitCount,
  insertTokens,
  insertVisit,
  type KycSession,
  type KycVisit,
  lockKycSession,
} from "../store.ts";
import { hashKycToken, isKycToken, makeKycToken } from "../tokens.ts";

/** What waits longer is refused. */
const WAIT_MAX_MS = 10 * SECOND_MS;
const oneByOne = createAccountTurns(1, WAIT_MAX_MS);

export type VisitorDeps = Pick<ModuleCore, "database" | "keyring" | "index_key" | "clock">;

/** The holder of a link, in one browser. */
export type Visitor = { key: UserKey; session: KycSession; visit: KycVisit };

/** The link has ended. It has the code of an unknown link: pages treat both the same. */
class SessionGone extends Refusal {
  constructor(message: string) {
    super("record_not_found", message);
  }

  override get status(): number {
    return 410;
  }
}

const REPLACED = "This link was replaced by a newer one. Open the newest link you received.";
const EXPIRED = "This link has expired: links work for 24 hours. Ask the sender for a new one.";

const TOO_MANY_VISITS = "This link was opened in too many browsers. Ask the sender for a new one.";

/** The session of a link; undefined for an unknown link. */
export async function findLinkSession(
  deps: VisitorDeps,
  token: string,
): Promise<KycSession | undefined> {
  const found = await findByToken(deps, "link", token);
  return found && found.visit_id === null
    ? findKycSession(deps.database, found.account_id, found.session_id)
    : undefined;
}

/** Refuses a session that has ended, with the reason. */
export function assertOpen(session: KycSession, now: Date): void {
  if (session.end_reason === "replaced") throw new SessionGone(REPLACED);
  if (session.ended_at !== null || session.expires_at <= now) throw new SessionGone(EXPIRED);
}

/** The visitor with this cookie for this session; undefined when the cookie is not valid. */
export async function findVisitor(
  deps: VisitorDeps,
  link_id: string | undefined,
  cookie: string | undefined,
): Promise<Visitor | undefined> {
  const found = await findByToken(deps, "visit", cookie);
  if (!found?.visit_id || found.session_id !== link_id) return undefined;
  const { account_id, session_id, visit_id } = found;
  const [session, visit] = await Promise.all([
    findKycSession(deps.database, account_id, session_id),
    findVisit(deps.database, account_id, visit_id),
  ]);
  return session && visit
    ? { key: { account_id, user_id: session.user_id }, session, visit }
    : undefined;
}

/** Starts a visit in a new browser: it gets its own cookie, bound to this session. */
export async function startVisit(
  deps: VisitorDeps,
  session: KycSession,
): Promise<{ visitor: Visitor; cookie: string }> {
  const { account_id, user_id } = session;
  const now = deps.clock.now();
  const cookie = makeKycToken();
  const visit: KycVisit = {
    account_id,
    id: newId(now),
    session_id: session.id,
    confirmed_at: null,
    created_at: now,
  };
  await deps.database.transaction(async (tx) => {
    await lockKycSession(tx, account_id, session.id);
    if ((await findVisitCount(tx, account_id, session.id)) >= VISITS_MAX) {
      throw new Refusal("too_many_requests", TOO_MANY_VISITS);
    }
    insertVisit(tx, visit);
    const token_hash = hashKycToken(deps.index_key, "visit", cookie);
    insertTokens(tx, [{ token_hash, account_id, session_id: session.id, visit_id: visit.id }]);
  });
  return { visitor: { key: { account_id, user_id }, session, visit }, cookie };
}

/**
 * Runs a change of the visitor's data, with the user locked and the session checked under that
 * lock. Refused when nothing can be changed any more.
 */
export function changeAsVisitor<Result>(
  deps: VisitorDeps,
  visitor: Visitor,
  work: (tx: Transaction, locked: LockedUser, now: Date) => Promise<Result>,
): Promise<Result> {
  return transactAsVisitor(deps, visitor, async (tx) => {
    const locked = await lockVisitor(tx, deps, visitor);
    if (!canEdit(locked.user, locked.session)) {
      const message = "Your data was submitted and can no longer be changed here.";
      throw new Refusal("invalid_transition", message);
    }
    return work(tx, locked, deps.clock.now());
  });
}

/**
 * One transaction of a link at a time: others would hold connections while they wait for the lock
 * of its user.
 */
export function transactAsVisitor<Result>(
  { database }: VisitorDeps,
  { session }: Visitor,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  return oneByOne(session.id, () => database.transaction(work));
}

/** A retry needs a new link: the old one only shows the reason. */
export function canEdit(user: User, session: KycSession): boolean {
  return session.read_only_at === null && EDITABLE.includes(user.kyc.general.status);
}

/** Locks the user first, as everywhere, then the session. */
export async function lockVisitor(
  tx: Transaction,
  deps: VisitorDeps,
  { key, session }: Visitor,
): Promise<LockedUser & { session: KycSession }> {
  const locked = await lockKycUser(tx, deps.keyring, key);
  const current = await lockKycSession(tx, key.account_id, session.id);
  if (!locked || !current) throw new SessionGone(EXPIRED);
  assertOpen(current, deps.clock.now());
  return { ...locked, session: current };
}

/** From here on the request is one of the account's applicants, and not its network's. */
async function findByToken(
  deps: { database: Session; index_key: Buffer },
  kind: "link" | "visit",
  token: string | undefined,
) {
  if (!isKycToken(token)) return undefined;
  const found = await findKycToken(deps.database, hashKycToken(deps.index_key, kind, token));
  if (found) setCaller(`applicants of ${found.account_id}`);
  return found;
}

export function gone(): SessionGone {
  return new SessionGone(EXPIRED);
}
