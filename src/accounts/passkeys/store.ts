import type { Session, Transaction } from "../../platform/db/database.ts";
import { deleteRow, findRow, insertRow, lockRow, updateRow } from "../../platform/db/rows.ts";
import { vouchedTable } from "../../platform/sealing/vouched-rows.ts";
import { updateVouched } from "../../platform/sealing/write-vouched.ts";

export type PasskeyRow = {
  person_id: string;
  id: string;
  credential_id: Buffer;
  public_key: Buffer;
  sign_count: bigint;
  transports: string[];
  name: Buffer;
  created_at: Date;
  last_used_at: Date | null;
  /** False from a new password until the passkey was used after it. */
  works_alone: boolean;
};

/** The name is encrypted for its row. */
export const PASSKEYS = vouchedTable(
  "passkeys",
  ["person_id", "id"],
  [
    ...["credential_id", "public_key", "sign_count", "transports", "created_at", "last_used_at"],
    "works_alone",
  ],
);

/** False when the credential is registered already, for anybody. */
export async function insertPasskey(tx: Transaction, row: PasskeyRow): Promise<boolean> {
  const rows = await tx.query(
    `insert into passkeys (person_id, id, credential_id, public_key, sign_count, transports, name,
       created_at, last_used_at, works_alone, mac)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (credential_id) do nothing returning id`,
    [
      ...[row.person_id, row.id, row.credential_id, row.public_key, row.sign_count],
      ...[row.transports, row.name, row.created_at, row.last_used_at, row.works_alone],
      PASSKEYS.withMacs(tx, [row])[0]!.mac,
    ],
  );
  return rows.length > 0;
}

/** Oldest first; those that somebody changed or planted are absent, like in all that follow. */
export async function listPasskeys(session: Session, person_id: string): Promise<PasskeyRow[]> {
  const rows = await session.query<PasskeyRow>(
    "select * from passkeys where person_id = $1 order by created_at, id",
    [person_id],
  );
  return PASSKEYS.vouchedOnly(session, rows);
}

export async function findPasskey(
  session: Session,
  person_id: string,
  id: string,
): Promise<PasskeyRow | undefined> {
  return knownPasskey(session, await findRow(session, "passkeys", { person_id, id }));
}

function knownPasskey(session: Session, row: PasskeyRow | undefined): PasskeyRow | undefined {
  return row && PASSKEYS.vouchedOnly(session, [row])[0];
}

/** The credential is all that is known of a person who signs in with a passkey only. */
export async function findPasskeyByCredential(
  session: Session,
  credential_id: Buffer,
): Promise<PasskeyRow | undefined> {
  return knownPasskey(session, await findRow(session, "passkeys", { credential_id }));
}

export async function lockPasskeyByCredential(
  tx: Transaction,
  person_id: string,
  credential_id: Buffer,
): Promise<PasskeyRow | undefined> {
  return knownPasskey(tx, await lockRow(tx, "passkeys", { person_id, credential_id }));
}

type PasskeyKey = { person_id: string; id: string };

export function updatePasskeyUsed(
  tx: Transaction,
  { person_id, id }: PasskeyKey,
  used: { sign_count: bigint; last_used_at: Date; works_alone: boolean },
): void {
  updateVouched(tx, PASSKEYS, { person_id, id }, used);
}

export function updatePasskeysAlone(
  tx: Transaction,
  person_id: string,
  works_alone: boolean,
): void {
  // A planted one must not stop its owner from setting a password.
  updateVouched(tx, PASSKEYS, { person_id }, { works_alone }, "vouchedOnly");
}

export function updatePasskeyName(
  tx: Transaction,
  { person_id, id }: PasskeyKey,
  name: Buffer,
): void {
  updateRow(tx, "passkeys", { person_id, id }, { name });
}

/** False when there is none. */
export async function deletePasskey(
  tx: Transaction,
  { person_id, id }: PasskeyKey,
): Promise<boolean> {
  const rows = await tx.query(
    "delete from passkeys where person_id = $1 and id = $2 returning id",
    [person_id, id],
  );
  return rows.length > 0;
}

export function deletePasskeys(tx: Transaction, person_id: string): void {
  deleteRow(tx, "passkeys", { person_id });
}

export function insertChallenge(
  tx: Transaction,
  row: { challenge_hash: Buffer; expires_at: Date },
): void {
  insertRow(tx, "passkey_challenges", row);
}

/** False when there is no such challenge, it was used before, or has expired. */
export async function claimChallengeRow(
  tx: Transaction,
  challenge_hash: Buffer,
  now: Date,
): Promise<boolean> {
  const rows = await tx.query<{ expires_at: Date }>(
    "delete from passkey_challenges where challenge_hash = $1 returning expires_at",
    [challenge_hash],
  );
  return rows.some(({ expires_at }) => expires_at > now);
}

export async function deleteExpiredChallenges(session: Session, now: Date): Promise<void> {
  await session.query("delete from passkey_challenges where expires_at <= $1", [now]);
}
