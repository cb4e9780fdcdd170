import type { FeeTable } from "../catalogue/fee-table.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { insertRow, insertRows } from "../platform/db/rows.ts";
import { vouchedTable } from "../platform/sealing/vouched-rows.ts";
import type { RateCheck, RateTable } from "./rate-checks.ts";

/** Currencies that are not quoted because the exposure is above its maximum, in order. */
export type Stopped = { offramps: string[]; onramps: string[] };

export type PriceVersion = {
  id: string;
  content_hash: Buffer;
  source: string;
  as_of: Date | null;
  rates: RateTable;
  fees: FeeTable;
  /** Basis points by which the quoted rates are worse for the customer, by currency. */
  spreads: Record<string, number>;
  stopped: Stopped;
  /** When the rates are too old for new quotes; null when they never are. */
  expires_at: Date | null;
  created_at: Date;
};

export const PRICE_VERSIONS = vouchedTable(
  "price_versions",
  ["id"],
  [
    ...["content_hash", "source", "as_of", "rates", "fees", "spreads", "stopped", "expires_at"],
    "created_at",
  ],
);

/** The newest of the service itself is among these, or there is none. */
const NEWEST_MAX = 100;

export async function findLastPriceVersionId(session: Session): Promise<string | undefined> {
  const [row] = await session.query<{ id: string }>(
    "select id from price_versions order by id desc limit 1",
  );
  return row?.id;
}

/** The newest that this service wrote: no other is used. */
export async function findLastPriceVersion(session: Session): Promise<PriceVersion | undefined> {
  const [newest] = await listNewest(session, 1);
  const [known] = newest ? PRICE_VERSIONS.vouchedOnly(session, [newest]) : [];
  if (known || !newest) return known;
  return (await listNewest(session, NEWEST_MAX)).find((row) => PRICE_VERSIONS.holds(session, row));
}

function listNewest(session: Session, limit: number): Promise<PriceVersion[]> {
  return session.query<PriceVersion>("select * from price_versions order by id desc limit $1", [
    limit,
  ]);
}

/** Those that this service wrote. */
export async function listPriceVersions(
  session: Session,
  ids: readonly string[],
): Promise<PriceVersion[]> {
  const rows = await session.query<PriceVersion>(
    "select * from price_versions where id = any($1::uuid[])",
    [ids],
  );
  return PRICE_VERSIONS.vouchedOnly(session, rows);
}

/** One writer at a time; readers and quotes that refer to a version are not blocked. */
export async function lockPriceVersions(tx: Session): Promise<void> {
  await tx.query("lock table price_versions in share row exclusive mode");
}

export function insertPriceVersion(tx: Transaction, version: PriceVersion): void {
  insertRow(tx, "price_versions", PRICE_VERSIONS.withMacs(tx, [version])[0]!);
}

export const RATE_CHECKS = vouchedTable(
  "rate_checks",
  ["token", "currency"],
  ["accepted_rate", "accepted_at", "held_rate", "held_at"],
);

/** Fails if somebody changed one: it decides which rates are accepted. */
export async function listRateChecks(session: Session): Promise<RateCheck[]> {
  const rows = await session.query<RateCheck & { mac: Buffer | null }>(
    "select * from rate_checks order by token, currency",
  );
  return RATE_CHECKS.assertVouched(session, rows).map(({ mac: _, ...check }) => check);
}

/** Inserts new checks, too. Only under lockPriceVersions. */
export function updateRateChecks(tx: Transaction, checks: readonly RateCheck[]): void {
  insertRows(
    tx,
    "rate_checks",
    `token text, currency text, accepted_rate text, accepted_at timestamptz, held_rate text,
     held_at timestamptz, mac bytea`,
    RATE_CHECKS.withMacs(tx, checks),
    `on conflict (token, currency) do update set accepted_rate = excluded.accepted_rate,
       accepted_at = excluded.accepted_at, held_rate = excluded.held_rate,
       held_at = excluded.held_at, mac = excluded.mac`,
  );
}
