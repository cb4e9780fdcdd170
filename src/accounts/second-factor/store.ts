import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow, findRow, insertRows } from "../../platform/db/rows.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import { insertVouched } from "../../platform/sealing/write-vouched.ts";

type TotpRow = { person_id: string; seed: Buffer; last_step: bigint; created_at: Date };

/** Not covered: the last step, which changes with every sign-in and only goes on. */
export const TOTP_FACTORS = vouchedTable("totp_factors", ["person_id"], ["seed", "created_at"]);
export const RECOVERY_CODES = vouchedTable("recovery_codes", ["person_id", "code_hash"], []);

export function insertTotp(tx: Transaction, row: TotpRow): void {
  insertVouched(tx, TOTP_FACTORS, row);
}

/** Absent if somebody changed it: no code is accepted. */
export async function findTotp(session: Session, person_id: string): Promise<TotpRow | undefined> {
  const row = await findRow<TotpRow>(session, "totp_factors", { person_id });
  return row && TOTP_FACTORS.vouchedOnly(session, [row])[0];
}

/** False when a code of this step, or of a later one, was accepted before. */
export async function claimTotpStep(
  tx: Transaction,
  person_id: string,
  step: bigint,
): Promise<boolean> {
  const rows = await tx.query(
    `update totp_factors set last_step = $2 where person_id = $1 and last_step < $2
     returning person_id`,
    [person_id, step],
  );
  return rows.length > 0;
}

/** Anything that is asked for after the password. */
export async function existsFactor(session: Session, person_id: string): Promise<boolean> {
  const [row] = await session.query<{ exists: boolean }>(
    `select exists (select from totp_factors where person_id = $1)
       or exists (select from passkeys where person_id = $1) as exists`,
    [person_id],
  );
  return row!.exists;
}

/** Those of the people who have a second factor. */
export async function listFactorHolders(
  session: Session,
  person_ids: readonly string[],
): Promise<Set<string>> {
  const rows = await session.query<{ person_id: string }>(
    `select person_id from totp_factors where person_id = any($1::uuid[])
     union select person_id from passkeys where person_id = any($1::uuid[])`,
    [person_ids],
  );
  return new Set(rows.map(({ person_id }) => person_id));
}

export function deleteTotp(tx: Transaction, person_id: string): void {
  deleteRow(tx, "totp_factors", { person_id });
}

export function insertRecoveryCodes(
  tx: Transaction,
  person_id: string,
  code_hashes: readonly Buffer[],
): void {
  const rows = code_hashes.map((code_hash) => ({ person_id, code_hash }));
  const columns = "person_id uuid, code_hash bytea, mac bytea";
  insertRows(tx, "recovery_codes", columns, RECOVERY_CODES.withMacs(tx, rows));
}

/** False when there is no such code, or it was used before. */
export async function claimRecoveryCode(
  tx: Transaction,
  person_id: string,
  code_hash: Buffer,
): Promise<boolean> {
  const rows = await tx.query(
    `delete from recovery_codes where person_id = $1 and code_hash = $2 returning *`,
    [person_id, code_hash],
  );
  return RECOVERY_CODES.vouchedOnly(tx, rows).length > 0;
}

export async function countRecoveryCodes(session: Session, person_id: string): Promise<number> {
  const [row] = await session.query<{ count: bigint }>(
    "select count(*) from recovery_codes where person_id = $1",
    [person_id],
  );
  return Number(row!.count);
}

export function deleteRecoveryCodes(tx: Transaction, person_id: string): void {
  deleteRow(tx, "recovery_codes", { person_id });
}
