import type { Transaction } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { normaliseEmail } from "../person-email.ts";
import { sealPersonal } from "../seal-personal.ts";
import { insertMail } from "./store.ts";
import { MAIL_KINDS, type MailKind } from "./texts.ts";

export const SEND_MAIL_TASK = "send-mail";

/** Mail for an address, sent by a task once the transaction has committed. */
export function queueMail(
  tx: Transaction,
  index_key: Buffer,
  mail: { account_id: string; kind: MailKind; email: string },
  now: Date,
): void {
  const { account_id, kind, email } = mail;
  const id = newId(now);
  const place = { table: "mails", column: "address", record_id: id };
  const address = sealPersonal(index_key, place, normaliseEmail(email));
  const expires_at = new Date(now.getTime() + MAIL_KINDS[kind].waits_ms);
  insertMail(tx, { account_id, id, kind, address, created_at: now, expires_at });
  enqueueTasks(tx, SEND_MAIL_TASK, [{ account_id, id }], now);
}
