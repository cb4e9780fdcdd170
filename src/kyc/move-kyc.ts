import { checkProposals } from "../approvals/check-proposals.ts";
import { type NewEvent, recordEvents } from "../events/record-events.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { digestKyc, type Kyc, type KycStatus, type User } from "../users/model.ts";
import { renderKycEvent } from "../users/render.ts";
import {
  existsScreening,
  findUser,
  lockUsers,
  toUsers,
  type UserKey,
  type UserRow,
  updateIdentity,
  updateKyc,
} from "../users/store.ts";
import {
  enqueueUserTasks,
  REASSESS_USER_TASK,
  SCREEN_USER_TASK,
  USER_CHANGED_TASK,
} from "../users/task-kinds.ts";
import {
  deleteKycDraft,
  findLastApplication,
  updateApplicationsDecided,
} from "./application-store.ts";
import { approvedIdentity } from "./fields.ts";
import { DECIDED, EDITABLE, movedKyc, type SwiftClearance } from "./model.ts";
import { updateSessionsReadOnly } from "./store.ts";
import { sweepFiles } from "./task-kinds.ts";

/** A user with the key of their personal data. */
export type OpenUser = { user: User; subject_key: Buffer };
/** The same, with the row locked. */
export type LockedUser = OpenUser;

export type KycMoveDeps = { keyring: Keyring; swift_clearance: SwiftClearance };

export async function lockKycUser(
  tx: Transaction,
  keyring: Keyring,
  key: UserKey,
): Promise<LockedUser | undefined> {
  return openUser(tx, keyring, key, await lockUsers(tx, [key]));
}

export async function findKycUser(
  session: Session,
  keyring: Keyring,
  key: UserKey,
): Promise<OpenUser | undefined> {
  const row = await findUser(session, key);
  return openUser(session, keyring, key, row ? [row] : []);
}

async function openUser(
  session: Session,
  keyring: Keyring,
  { account_id, user_id }: UserKey,
  rows: readonly UserRow[],
): Promise<OpenUser | undefined> {
  const keys = await keyring.openUserKeys(session, [{ account_id, user_id }]);
  const subject_key = keys.get(account_id, user_id);
  const [user] = toUsers(rows, keys);
  return user && subject_key ? { user, subject_key } : undefined;
}

/** Writes moves of a locked user that do not include an approval. */
export function recordMoves(
  tx: Transaction,
  locked: LockedUser,
  path: readonly Exclude<KycStatus, "approved">[],
  moderation_comment: string | null,
  now: Date,
): User {
  // The setting matters for approvals only.
  const deps = { swift_clearance: "separate" } as const;
  return recordPath(tx, deps, locked, path, moderation_comment, now);
}

/** Writes the moves of a locked user; an approval copies the submitted data to the user. */
export async function recordJudgement(
  tx: Transaction,
  deps: Pick<KycMoveDeps, "swift_clearance">,
  locked: LockedUser,
  path: readonly KycStatus[],
  moderation_comment: string | null,
  now: Date,
): Promise<User> {
  const approved = path.includes("approved") ? await takeOver(tx, locked, now) : locked;
  return recordPath(tx, deps, approved, path, moderation_comment, now);
}

/** Not when a suspension is lifted, and never from an application that was sent back. */
async function takeOver(tx: Transaction, locked: LockedUser, now: Date): Promise<LockedUser> {
  const { user, subject_key } = locked;
  const key = { account_id: user.account_id, user_id: user.id };
  const last = await findLastApplication(tx, key, subject_key);
  const is_open = last?.decided_at === null && user.kyc.general.status !== "suspended";
  if (!is_open || !last.submitted || last.submitted.other_names.length > 0) return locked;
  const identity = approvedIdentity(user.beneficiary_type, user.identity, last.submitted);
  const changed = { ...user, identity };
  updateIdentity(tx, changed, subject_key);
  if (await existsScreening(tx)) enqueueUserTasks(tx, SCREEN_USER_TASK, [key], now);
  return { user: changed, subject_key };
}

/**
 * When nothing can be changed any more, unsubmitted input is deleted and the links become
 * read-only; with a decision, the retention period of the documents begins.
 */
function recordPath(
  tx: Transaction,
  { swift_clearance }: Pick<KycMoveDeps, "swift_clearance">,
  locked: LockedUser,
  path: readonly KycStatus[],
  moderation_comment: string | null,
  now: Date,
): User {
  const kycs: Kyc[] = [];
  for (const status of path) {
    const before = kycs.at(-1) ?? locked.user.kyc;
    kycs.push(movedKyc(before, status, moderation_comment, swift_clearance));
  }
  const user = recordKycs(tx, locked, kycs, now);
  const status = path.at(-1);
  if (status === undefined) return user;
  const key = { account_id: user.account_id, user_id: user.id };
  // A user who starts again has submitted nothing yet: earlier documents keep their deletion time.
  if (status !== "initiated") {
    updateApplicationsDecided(tx, key, DECIDED.includes(status) ? now : null);
  }
  if (path.some((passed) => !EDITABLE.includes(passed))) updateSessionsReadOnly(tx, key, now);
  if (EDITABLE.includes(status)) return user;
  deleteKycDraft(tx, key);
  sweepFiles(tx, key, now);
  return user;
}

/** Writes the consecutive status maps of a locked user, with an event for each. */
export function recordKycs(
  tx: Transaction,
  { user: found, subject_key }: LockedUser,
  kycs: readonly Kyc[],
  now: Date,
): User {
  const { account_id, id } = found;
  let user = found;
  const events: NewEvent[] = [];
  for (const kyc of kycs) {
    const from_status = user.kyc.general.status;
    const updated_at = new Date(Math.max(now.getTime(), user.updated_at.getTime() + 1));
    user = { ...user, kyc, sequence: user.sequence + 1, updated_at };
    events.push({
      account_id,
      name: "kyc_update",
      record_id: id,
      sequence: user.sequence,
      from_status,
      to_status: kyc.general.status,
      facts: digestKyc(user),
      subject_id: id,
      key: subject_key,
      body: renderKycEvent(user),
    });
  }
  if (events.length === 0) return user;
  updateKyc(tx, user, subject_key);
  recordEvents(tx, events, now);
  const key = { account_id, user_id: id };
  const kinds = [REASSESS_USER_TASK, USER_CHANGED_TASK];
  for (const kind of kinds) enqueueUserTasks(tx, kind, [key], now);
  // Proposals to give the user's money back show the status.
  checkProposals(tx, [{ account_id, id }], now);
  return user;
}
