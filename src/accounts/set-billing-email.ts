import type { Transaction } from "../platform/db/database.ts";
import { MINUTE_MS } from "../platform/durations.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { newId } from "../platform/ids.ts";
import { enqueueTasksAt } from "../platform/tasks/tasks.ts";
import { recordAudit } from "./audit.ts";
import { hashBillingEmail, insertBillingEmail } from "./billing-email-store.ts";
import type { Actor } from "./model.ts";

/** Shares with an account the invoices billed to its e-mail; the invoices module handles it. */
export const SHARE_INVOICES_TASK = "share-invoices";

/**
 * An invoice created while the e-mail is being set may have looked it up too early. A minute later
 * all of those are committed, so the task runs once more.
 */
const LOOK_AGAIN_AFTER_MS = MINUTE_MS;

/** The operator vouches for the e-mail, so it counts as verified at once. */
export async function setBillingEmail(
  tx: Transaction,
  deps: { keyring: Keyring; index_key: Buffer },
  input: { account_id: string; email: string; actor: Actor; reason: string },
  now: Date,
): Promise<void> {
  const { account_id, email, actor, reason } = input;
  const key = await deps.keyring.openAccount(tx, account_id);
  const email_index = hashBillingEmail(deps.index_key, email);
  insertBillingEmail(tx, key, { account_id, email, email_index }, now);
  const record = `account:${account_id}`;
  const action = "account.set_billing_email";
  recordAudit(tx, { account_id, actor, action, record, reason }, now);
  const later = new Date(now.getTime() + LOOK_AGAIN_AFTER_MS);
  const task = { account_id, id: newId(now) };
  const both = [now, later].map((due_at) => ({ ...task, due_at }));
  enqueueTasksAt(tx, SHARE_INVOICES_TASK, both, now);
}
