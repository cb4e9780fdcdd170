import { voidProposalsOfErased } from "../approvals/end-proposal.ts";
import { deleteCommands } from "../platform/commands/store.ts";
import type { Transaction } from "../platform/db/database.ts";
import { DAY_MS } from "../platform/durations.ts";
import { firstIdAt } from "../platform/ids.ts";
import { oneByOne } from "../platform/tasks/one-by-one.ts";
import { recurringTask } from "../platform/tasks/recurring-task.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import type { TaskSet } from "../platform/tasks/task-set.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import { USER_CHANGED_TASK, USER_ERASED_TASK } from "../users/task-kinds.ts";
import { deleteKycDataOf, deleteKycDraft, listNamedFiles } from "./application-store.ts";
import { readIdentityResults } from "./apply-identity-results.ts";
import { type ApplicationAssessDeps, assessApplication } from "./assess-application.ts";
import { kycFileKey } from "./kyc-file.ts";
import { EDITABLE } from "./model.ts";
import { lockKycUser } from "./move-kyc.ts";
import { voidStaleDecision } from "./review/proposed-decision.ts";
import {
  deleteKycSession,
  deleteKycSessionsOf,
  findKycSession,
  listOpenSessions,
  updateSessionsEnded,
} from "./store.ts";
import {
  ASSESS_APPLICATION_TASK,
  EXPIRE_SESSION_TASK,
  FILES_SWEPT_AFTER_MS,
  READ_IDENTITY_TASK,
  SWEEP_FILES_TASK,
  sweepFiles,
} from "./task-kinds.ts";

type KycTaskDeps = ApplicationAssessDeps;

/** For this long an old link is reported as expired; afterwards it is unknown. */
const ENDED_KNOWN_MS = 90 * DAY_MS;
const RESULTS_READ_EVERY_MS = 5_000;

/** The background tasks of KYC. */
export function kycTasks(deps: KycTaskDeps): TaskHandler[] {
  const { database } = deps;
  const each = (work: (set: TaskSet, task: Task) => Promise<void>) => (set: TaskSet) =>
    oneByOne(database, set, (task) => work(set, task));
  return [
    {
      kind: ASSESS_APPLICATION_TASK,
      set_max: 10,
      handle: each((set, task) => assessApplication(deps, set, task)),
    },
    {
      kind: EXPIRE_SESSION_TASK,
      set_max: 50,
      handle: each((set, task) => expireSession(deps, set, task)),
    },
    { kind: SWEEP_FILES_TASK, set_max: 50, handle: each((set, task) => sweep(deps, set, task)) },
    {
      kind: USER_CHANGED_TASK,
      set_max: 50,
      handle: each((set, task) => checkProposal(deps, set, task)),
    },
    { kind: USER_ERASED_TASK, set_max: 10, handle: each((set, task) => forget(deps, set, task)) },
    recurringTask(database, READ_IDENTITY_TASK, RESULTS_READ_EVERY_MS, ({ now }) =>
      readIdentityResults(deps, now),
    ),
  ];
}

/** Ends an expired session, with its stored response and everything not submitted. */
async function expireSession(deps: KycTaskDeps, set: TaskSet, task: Task): Promise<void> {
  const { account_id, record_id } = task;
  await deps.database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length === 0) return;
    const session = await findKycSession(tx, account_id, record_id);
    const known_until = session && new Date(session.expires_at.getTime() + ENDED_KNOWN_MS);
    if (!session || !known_until || known_until <= set.now) {
      deleteKycSession(tx, account_id, record_id);
      set.finish(tx, tasks);
      return;
    }
    const key = { account_id, user_id: session.user_id };
    const locked = await lockKycUser(tx, deps.keyring, key);
    const open = await listOpenSessions(tx, [key]);
    updateSessionsEnded(tx, [session], "expired", set.now);
    deleteCommands(tx, [session]);
    // A newer session continues the draft of the previous one.
    const is_last = open.every(({ id }) => id === session.id);
    if (locked && is_last && EDITABLE.includes(locked.user.kyc.general.status)) {
      deleteKycDraft(tx, key);
      sweepFiles(tx, key, set.now);
    }
    set.repeat(tx, tasks, known_until);
  });
}

/** Deletes files that no record refers to: replaced, removed, abandoned, or past retention. */
async function sweep(deps: KycTaskDeps, set: TaskSet, task: Task): Promise<void> {
  const key = { account_id: task.account_id, user_id: task.record_id };
  // File names are ids and contain their time; a young one may belong to an upload in progress.
  const young = firstIdAt(new Date(set.now.getTime() - FILES_SWEPT_AFTER_MS));
  await deleteFiles(deps, key, (file) => file < young);
  await deps.database.transaction(async (tx) => set.finish(tx, await set.lock(tx, [task])));
}

/** A proposed decision on the user may have become void. */
async function checkProposal(deps: KycTaskDeps, set: TaskSet, task: Task): Promise<void> {
  const key = { account_id: task.account_id, user_id: task.record_id };
  await deps.database.transaction(async (tx) => {
    const tasks = await set.lock(tx, [task]);
    if (tasks.length > 0) await voidStaleDecision(tx, deps.keyring, key, set.now);
    set.finish(tx, tasks);
  });
}

/** The key is already destroyed; this deletes what it sealed. */
async function forget(deps: KycTaskDeps, set: TaskSet, task: Task): Promise<void> {
  const key = { account_id: task.account_id, user_id: task.record_id };
  await deps.database.transaction(async (tx: Transaction) => {
    if ((await set.lock(tx, [task])).length === 0) return;
    const subject = { account_id: key.account_id, subject_id: key.user_id };
    await voidProposalsOfErased(tx, subject, set.now);
    deleteKycDataOf(tx, key, set.now);
    await deleteKycSessionsOf(tx, key);
  });
  await deleteFiles(deps, key, () => true);
  await deps.database.transaction(async (tx) => set.finish(tx, await set.lock(tx, [task])));
}

async function deleteFiles(
  { database, files }: KycTaskDeps,
  key: { account_id: string; user_id: string },
  isOld: (file: string) => boolean,
): Promise<void> {
  const { account_id, user_id } = key;
  const kept = await files.listVersions({ account_id, record_id: user_id });
  const named = await listNamedFiles(database, key);
  const unnamed = kept.filter((file) => !named.has(file) && isOld(file));
  for (const file of unnamed) await files.delete(kycFileKey(key, file));
}
