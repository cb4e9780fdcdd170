import { recordAudits } from "../accounts/audit.ts";
import { actorOf } from "../accounts/model.ts";
import { AccountMap } from "../platform/account-map.ts";
import { deleteCommands } from "../platform/commands/store.ts";
import type { Accepted, Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring, SubjectKeys } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { enqueueTasksAt } from "../platform/tasks/tasks.ts";
import { deactivationProblems } from "../users/clearance.ts";
import type { KycStatus } from "../users/model.ts";
import { lockUsers, toUsers, type UserKey, type UserRow, usersOf } from "../users/store.ts";
import {
  findLastApplication,
  insertKycFiles,
  type KycFile,
  listKycFiles,
} from "./application-store.ts";
import { accountBirthDate } from "./fields.ts";
import { EDITABLE, LINK_LIFE_MS } from "./model.ts";
import {
  insertKycSessions,
  insertTokens,
  type KycSession,
  listOpenSessions,
  updateSessionsEnded,
} from "./store.ts";
import { EXPIRE_SESSION_TASK } from "./task-kinds.ts";
import { hashBirthDate, hashKycToken, makeKycToken } from "./tokens.ts";

type NewKycSession = { user_id: string; problems: readonly Problem[] };

type Loaded = {
  users: AccountMap<UserRow>;
  keys: SubjectKeys;
  /** By user, including the sessions created in this set. */
  open: AccountMap<KycSession[]>;
  /** By user: files that an applicant who must try again need not upload again. */
  files: AccountMap<KycFile[]>;
};
type Created = {
  session: KycSession;
  token: string;
  replaced: readonly KycSession[];
  files: readonly KycFile[];
};

/** Creates a new link for a user; it replaces the previous one. */
export function createKycSessions(
  keyring: Keyring,
  index_key: Buffer,
  renderSession: (user_id: string, token: string) => string,
): UseCase<NewKycSession, Loaded, Created> {
  return {
    name: "create-kyc-sessions",
    rows: () => 4,
    load: (tx, commands) => load(tx, keyring, commands),
    decide: decideOne,
    record: (tx, _loaded, accepted, now) => {
      const created = accepted.map(({ output }) => output);
      const sessions = created.map(({ session }) => session);
      const replaced = created.flatMap((one) => one.replaced);
      insertKycSessions(tx, sessions);
      insertTokens(
        tx,
        created.map(({ session: { account_id, id }, token }) => ({
          token_hash: hashKycToken(index_key, "link", token),
          account_id,
          session_id: id,
          visit_id: null,
        })),
      );
      // After inserting the sessions: one may have been replaced within this set.
      updateSessionsEnded(tx, replaced, "replaced", now);
      deleteCommands(tx, replaced);
      insertKycFiles(
        tx,
        created.flatMap((one) => one.files),
      );
      const expiring = sessions.map((session) => ({ ...session, due_at: session.expires_at }));
      enqueueTasksAt(tx, EXPIRE_SESSION_TASK, expiring, now);
      recordActs(tx, accepted, now);
    },
    render: ({ session, token }) => renderSession(session.user_id, token),
  };
}

/** Who got the link: whoever opens it can identify as the user. */
function recordActs(
  tx: Transaction,
  accepted: readonly Accepted<NewKycSession, Created>[],
  now: Date,
): void {
  const acts = accepted.map(({ command, output: { session } }) => {
    const { account_id, user_id, id: kyc_session_id } = session;
    const act = { account_id, actor: actorOf(command), record: `user:${user_id}`, reason: "" };
    return { ...act, action: "kyc.create_session" as const, detail: { kyc_session_id } };
  });
  recordAudits(tx, acts, now);
}

async function load(
  tx: Transaction,
  keyring: Keyring,
  commands: readonly Command<NewKycSession>[],
): Promise<Loaded> {
  const wanted = usersOf(commands);
  const [rows, keys] = await Promise.all([lockUsers(tx, wanted), keyring.openUserKeys(tx, wanted)]);
  const open = new AccountMap<KycSession[]>();
  for (const session of await listOpenSessions(tx, wanted)) {
    const before = open.get(session.account_id, session.user_id) ?? [];
    open.set(session.account_id, session.user_id, [...before, session]);
  }
  const files = new AccountMap<KycFile[]>();
  for (const row of rows) {
    const subject_key = keys.get(row.account_id, row.id);
    if (row.kyc_status !== "retry_required" || !subject_key) continue;
    files.set(row.account_id, row.id, await listReusable(tx, row, subject_key));
  }
  return { users: AccountMap.of(rows, (row) => row), keys, open, files };
}

/** The files of the last application, unless the draft has some already. */
async function listReusable(tx: Transaction, row: UserRow, subject_key: Buffer) {
  const key: UserKey = { account_id: row.account_id, user_id: row.id };
  if ((await listKycFiles(tx, key, null)).length > 0) return [];
  const last = await findLastApplication(tx, key, subject_key);
  return last ? listKycFiles(tx, key, last.id) : [];
}

function decideOne(loaded: Loaded, command: Command<NewKycSession>, now: Date): Verdict<Created> {
  const { account_id, input } = command;
  const { user_id } = input;
  const user = loaded.users.get(account_id, user_id);
  const key = loaded.keys.get(account_id, user_id);
  if (!user || !key) return { refusal: Refusal.of([...input.problems, notFound("user_id")]) };
  const is_deactivated = user.deactivated_at !== null;
  const problems = [...input.problems, ...deactivationProblems({ is_deactivated }, "user_id")];
  if (!EDITABLE.includes(user.kyc_status)) problems.push(notNow(user.kyc_status));
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  const id = newId(now);
  const [known] = toUsers([user], loaded.keys);
  const born = known ? accountBirthDate(known.beneficiary_type, known.identity) : null;
  const session: KycSession = {
    account_id,
    id,
    user_id,
    command_id: command.id,
    created_at: now,
    expires_at: new Date(now.getTime() + LINK_LIFE_MS),
    ended_at: null,
    end_reason: null,
    wrong_birth_dates: 0,
    // Hashed now: a date typed under this link must never reveal data known before it.
    birth_date_hash: born === null ? null : hashBirthDate(key, id, born),
    read_only_at: null,
  };
  const replaced = loaded.open.get(account_id, user_id) ?? [];
  loaded.open.set(account_id, user_id, [session]);
  const files = (loaded.files.get(account_id, user_id) ?? []).map((file) => ({
    ...file,
    id: newId(now),
    application_id: null,
    visit_id: null,
  }));
  loaded.files.set(account_id, user_id, []);
  const output = { session, token: makeKycToken(), replaced, files };
  return { output, subject: { subject_id: user_id, key } };
}

function notNow(status: KycStatus): Problem {
  const message =
    status === "approved" || status === "suspended"
      ? "The user is already approved."
      : status === "failed" || status === "retry_denied"
        ? "The user's verification was permanently refused."
        : "The user's application is under review; wait for the decision.";
  return { field: "user_id", code: "invalid_transition", message };
}
