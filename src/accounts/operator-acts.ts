import type { Session, Transaction } from "../platform/db/database.ts";
import { deleteRow, findRow, type RecordKey } from "../platform/db/rows.ts";
import { newId } from "../platform/ids.ts";
import type { ModuleCore } from "../platform/module.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import { insertVouched } from "../platform/sealing/write-vouched.ts";
import { oneByOne } from "../platform/tasks/one-by-one.ts";
import type { TaskHandler } from "../platform/tasks/run-set.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { type AuditEntry, recordAudit, recordAudits } from "./audit.ts";
import { listAuditRows } from "./audit-store.ts";

/*
 * What the operator does in another account, in the operator's own audit log. Where a transaction
 * is of one account (SLIPROAD_BATCH_BY=account), the act leaves a row in that account, and a task
 * notes it in the operator's log: a transaction of the operator's, which may be repeated.
 */

const NOTE_OPERATOR_ACT_TASK = "note-operator-act";
const SET_MAX = 20;

type OperatorAct = RecordKey & {
  operator_id: string;
  /** JSON of the entry. */
  entry: string;
  created_at: Date;
};

/** Whoever can only write SQL must not put words into the operator's log. */
export const OPERATOR_ACTS = vouchedTable(
  "operator_acts",
  ["account_id", "id"],
  ["operator_id", "entry", "created_at"],
);

/**
 * The entry is the operator's; `tenant_id` is the account that the transaction changes. Of several
 * acts in one transaction each is noted.
 */
export function recordForOperator(
  tx: Transaction,
  tenant_id: string,
  entry: AuditEntry,
  now: Date,
): void {
  const { account_id: operator_id, ...rest } = entry;
  if (!tx.by_account || operator_id === tenant_id) {
    recordAudit(tx, entry, now);
    return;
  }
  const act = { account_id: tenant_id, id: newId(now), operator_id, entry: JSON.stringify(rest) };
  insertVouched(tx, OPERATOR_ACTS, { ...act, created_at: now });
  enqueueTasks(tx, NOTE_OPERATOR_ACT_TASK, [act], now);
}

/**
 * What the operator did in an account. The reason is in the operator's own log: a suspicion must
 * not be read by those whom it is about. The account's log shows the act without it.
 */
export function recordOperatorAct(
  tx: Transaction,
  operator_id: string,
  entry: AuditEntry,
  now: Date,
): void {
  const { account_id, detail } = entry;
  const is_own = account_id === operator_id;
  recordAudit(tx, is_own ? entry : { ...entry, reason: "" }, now);
  if (is_own) return;
  const own = { ...entry, account_id: operator_id, detail: { ...detail, account_id } };
  recordForOperator(tx, account_id, own, now);
}

/** Safe to repeat: the entry has the id of the act. */
export function noteOperatorActTask({ database }: Pick<ModuleCore, "database">): TaskHandler {
  return {
    kind: NOTE_OPERATOR_ACT_TASK,
    set_max: SET_MAX,
    handle: (set) =>
      oneByOne(database, set, async (task) => {
        const key = { account_id: task.account_id, id: task.record_id };
        const act = await findOperatorAct(database, key);
        if (act) await database.transaction((tx) => noteAct(tx, act));
        await database.transaction(async (tx) => {
          const tasks = await set.lock(tx, [task]);
          if (tasks.length === 0) return;
          deleteRow(tx, OPERATOR_ACTS.table, key);
          set.finish(tx, tasks);
        });
      }),
  };
}

export async function noteAct(tx: Transaction, act: OperatorAct): Promise<void> {
  const { id, operator_id: account_id, created_at } = act;
  const known = await listAuditRows(tx, account_id, [id]);
  if (known.length > 0) return;
  const entry = JSON.parse(act.entry) as Omit<AuditEntry, "account_id">;
  recordAudits(tx, [{ ...entry, account_id, id }], created_at);
}

async function findOperatorAct(session: Session, key: RecordKey): Promise<OperatorAct | undefined> {
  const row = await findRow<OperatorAct>(session, OPERATOR_ACTS.table, key);
  return row && OPERATOR_ACTS.assertVouched(session, [row])[0];
}
