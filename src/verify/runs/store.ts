import type { Session, Transaction } from "../../platform/db/database.ts";
import { insertRows } from "../../platform/db/rows.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";

/** A finished check of all books. */
export type VerificationRun = {
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

/** `is_proven` is false where somebody else than Sliproad wrote or changed the row. */
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

/** How far a check is that a member started. */
type Running = {
  account_id: string;
  requested_by: string;
  requested_at: Date;
  accounts_done: number;
  accounts: number;
  pages: number;
  updated_at: Date;
};

type RunningKey = Pick<Running, "account_id" | "requested_by" | "requested_at">;

/** False while another one runs. */
export async function insertRunning(
  tx: Transaction,
  { account_id, requested_by, requested_at }: RunningKey,
): Promise<boolean> {
  const rows = await tx.query(
    `insert into running_verifications (account_id, requested_by, requested_at, updated_at)
     values ($1, $2, $3, $3) on conflict do nothing returning account_id`,
    [account_id, requested_by, requested_at],
  );
  return rows.length > 0;
}

export async function updateRunning(
  session: Session,
  progress: Omit<Running, "requested_by" | "requested_at">,
): Promise<void> {
  const { account_id, accounts_done, accounts, pages, updated_at } = progress;
  await session.query(
    `update running_verifications
     set accounts_done = $2, accounts = $3, pages = $4, updated_at = $5 where account_id = $1`,
    [account_id, accounts_done, accounts, pages, updated_at],
  );
}

export function deleteRunning(tx: Transaction, account_id: string): void {
  tx.write("delete from running_verifications where account_id = $1", [account_id]);
}

export async function findRunning(session: Session): Promise<Running | null> {
  const [row] = await session.query<Running>("select * from running_verifications");
  return row ?? null;
}
