import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow, findRow, insertRow, type RecordKey } from "../../platform/db/rows.ts";
import type { MailKind } from "./texts.ts";

export type MailRow = {
  account_id: string;
  id: string;
  kind: MailKind;
  address: Buffer;
  created_at: Date;
  expires_at: Date;
};

export function insertMail(tx: Transaction, mail: MailRow): void {
  insertRow(tx, "mails", mail);
}

export function findMail(
  session: Session,
  { account_id, id }: RecordKey,
): Promise<MailRow | undefined> {
  return findRow(session, "mails", { account_id, id });
}

export function deleteMail(tx: Transaction, { account_id, id }: RecordKey): void {
  deleteRow(tx, "mails", { account_id, id });
}
