import type { Session } from "../../platform/db/database.ts";
import { readAgreeing } from "../../platform/sealing/put-back.ts";
import { isAuditAuthentic } from "../audit.ts";
import { listLastAuditRows } from "../audit-store.ts";
import { listAccountsById } from "../store.ts";

type Owned = { account_id: string; id: string };

/** Filters accounts to those that are frozen. Fails if somebody changed one, or put it back. */
export async function listFrozenAccounts(
  session: Session,
  ids: readonly string[],
): Promise<Set<string>> {
  const owned = ids.map((id) => ({ account_id: id, id }));
  const read = () =>
    Promise.all([listAccountsById(session, ids), listSaidFrozen(session, "account", owned)]);
  const [rows] = await readAgreeing(session, read, ([accounts, said]) => {
    const wrong = accounts.find(
      ({ id, frozen_at }) => frozen_at === null && said.has(`${id} ${id}`),
    );
    return wrong && { table: "accounts", key: [wrong.id] };
  });
  return new Set(rows.flatMap((row) => (row.frozen_at === null ? [] : [row.id])));
}

/**
 * Those that the audit log says are frozen, as `account_id id`. So is one whose last entry this
 * service did not write: nobody knows what it was before.
 */
export async function listSaidFrozen(
  session: Session,
  kind: "user" | "account",
  owned: readonly Owned[],
): Promise<Set<string>> {
  if (owned.length === 0) return new Set();
  const records = owned.map(({ account_id, id }) => ({ account_id, record: `${kind}:${id}` }));
  const ended = `${kind}.unfreeze`;
  const last = await listLastAuditRows(session, records, [`${kind}.freeze`, ended]);
  const frozen = last.filter((row) => row.action !== ended || !isAuditAuthentic(session, row));
  return new Set(
    frozen.map(({ account_id, record }) => `${account_id} ${record.slice(kind.length + 1)}`),
  );
}
