import type { Session, Transaction } from "../../platform/db/database.ts";
import { insertRows } from "../../platform/db/rows.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";

/** A finished run of `sliproad verify`. */
type VerificationRun = {
  id: string;
  at: Date;
  accounts: number;
  fault: string | null;
  has_anchors: boolean;
  took_ms: number;
};
type Row = VerificationRun & { mac: Buffer };

export function insertVerification(tx: Transaction, index_key: Buffer, run: VerificationRun): void {
  insertRows(
    tx,
    "verifications",
    `id uuid, at timestamptz, accounts integer, fault text, has_anchors boolean, took_ms integer,
     mac bytea`,
    [{ ...run, mac: macOf(index_key, run) }],
  );
}

/** `is_proven` is false where somebody else than the command wrote or changed the row. */
export async function findLastVerification(
  session: Session,
  index_key: Buffer,
): Promise<(VerificationRun & { is_proven: boolean }) | null> {
  const [row] = await session.query<Row>("select * from verifications order by at desc limit 1");
  if (!row) return null;
  const { mac, ...run } = row;
  return { ...run, is_proven: macOf(index_key, run).equals(mac) };
}

function macOf(index_key: Buffer, run: VerificationRun): Buffer {
  const { id, at, accounts, fault, has_anchors, took_ms } = run;
  const parts = [id, at.toISOString(), accounts, fault ?? "", has_anchors, took_ms, fault === null];
  return keyedHash(index_key, "verification", ...parts.map(String));
}
