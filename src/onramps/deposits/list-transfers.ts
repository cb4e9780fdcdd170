import { randomBytes } from "node:crypto";
import { recordAudit } from "../../accounts/audit.ts";
import { findSetAsideTransfer, type SetAsideTransfer } from "../../balances/set-aside-store.ts";
import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { walletOn } from "../../ledger/model.ts";
import { fiatDepositReceived } from "../../ledger/onramp-postings.ts";
import { postEntries } from "../../ledger/post-entries.ts";
import type { Transaction } from "../../platform/db/database.ts";
import { KEY_BYTES } from "../../platform/encryption/cipher.ts";
import { createSubjectKeys } from "../../platform/encryption/keyring.ts";
import { newId } from "../../platform/ids.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minOf, minorToText } from "../../platform/money.ts";
import type { TaskSet } from "../../platform/tasks/task-set.ts";
import { insertFiatDeposits, type NewDeposit } from "./store.ts";

export type ListTransferDeps = Pick<ModuleCore, "database" | "keyring" | "operator_id" | "log">;

/** The largest amount of a row; the text of a larger transfer names it. */
const AMOUNT_MAX = 2n ** 63n - 1n;

/**
 * Puts transfers that no user was credited with on the operator's list, in the operator's books,
 * and reports them: in the audit log, the service log and `sliproad_deposits_unmatched`.
 */
export async function listTransfers(deps: ListTransferDeps, set: TaskSet): Promise<void> {
  for (const task of set.tasks) {
    await deps.database.transaction(async (tx) => {
      const tasks = await set.lock(tx, [task]);
      if (tasks.length === 0) return;
      const transfer = await findSetAsideTransfer(tx, task.account_id, task.record_id);
      if (transfer) await listTransfer(tx, deps, transfer, set.now);
      set.finish(tx, tasks);
    });
  }
}

async function listTransfer(
  tx: Transaction,
  { keyring, operator_id, log }: ListTransferDeps,
  transfer: SetAsideTransfer,
  now: Date,
): Promise<void> {
  const deposit = toDeposit(transfer, operator_id, now);
  const account_keys = await keyring.openAccounts(tx, [{ account_id: operator_id }]);
  const key = randomBytes(KEY_BYTES);
  const written = await insertFiatDeposits(tx, [{ ...deposit, key }], now);
  if (!written.has(deposit.id)) return;
  const { id, reason } = deposit;
  createSubjectKeys(tx, account_keys, [{ account_id: operator_id, subject_id: id, key }], now);
  postEntries(tx, deposit.is_posted ? [fiatDepositReceived(deposit)] : [], now);
  const { account_id, quote_id, chain, tx_id } = transfer;
  const detail = { account_id, quote_id, chain, tx_id, reason };
  const act = {
    account_id: operator_id,
    actor: "worker" as const,
    action: "deposit.set_aside" as const,
  };
  recordAudit(tx, { ...act, record: `deposit:${id}`, reason: "", detail }, now);
  log.warn({ deposit_id: id, ...detail }, "a transfer could not be credited and was set aside");
}

function toDeposit(transfer: SetAsideTransfer, operator_id: string, now: Date): NewDeposit {
  const { chain, tx_id, log_index, token, sender, reason } = transfer;
  const amount = BigInt(transfer.amount);
  const shown = `${minorToText(amount, TOKEN_DIGITS)} ${token}`;
  return {
    account_id: operator_id,
    id: newId(now),
    bank_account: walletOn(chain),
    ledger_account: walletOn(chain),
    bank_reference: `${tx_id}:${log_index}`,
    part: 0,
    is_conflict: false,
    amount: minOf(amount, AMOUNT_MAX),
    currency: token,
    booked_at: transfer.mined_at,
    details: {
      text: `${shown} for quote ${transfer.quote_id} of account ${transfer.account_id}`,
      payer_name: sender ?? "",
    },
    status: "unmatched",
    reason,
    // The ledger cannot hold more than 64 bits.
    is_posted: amount <= AMOUNT_MAX,
    matched_by: null,
    onramp_account_id: null,
    onramp_id: null,
  };
}
