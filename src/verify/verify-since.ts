import type { KeyObject } from "node:crypto";
import { EVENT_LOG } from "../events/record-events.ts";
import { isSigned } from "../ledger/balance-mac.ts";
import { payoutPending } from "../ledger/model.ts";
import type { StoredBalance } from "../ledger/store.ts";
import { listPayouts, PAYOUTS } from "../offramps/payouts/store.ts";
import { findQuotes, QUOTES } from "../offramps/quotes/store.ts";
import { findOfframpLinks } from "../offramps/store.ts";
import type { Session } from "../platform/db/database.ts";
import { hasMacs } from "../platform/sealing/row-mac.ts";
import { verifyChain } from "../platform/sealing/verify-chain.ts";
import { NOT_WRITTEN_HERE } from "../platform/sealing/vouched-rows.ts";
import { SEALED_TABLES } from "./sealed-tables.ts";
import { type AnchoredHeads, chainName } from "./verify-anchors.ts";
import { verifyArchives } from "./verify-archives.ts";
import { verifyOfframpsById } from "./verify-offramps.ts";

/**
 * Checks what was sealed after the anchored heads of an account's logs: the entries, and the
 * offramps that changed, with their attempts, ledger entries, quotes and balances. What was there
 * before is not read again, so its time follows from what happened since, not from all there is.
 */
export async function verifySince(
  session: Session,
  key: KeyObject,
  account_id: string,
  heads: AnchoredHeads,
  time: { now: Date; is_sealer_running: boolean },
): Promise<string | null> {
  const archived = await verifyArchives(session, account_id);
  if (archived) return archived;
  for (const sealed of SEALED_TABLES) {
    const after = heads.get(chainName(account_id, sealed.log)) ?? 0n;
    const fault = await verifyChain(session, key, sealed, account_id, { ...time, after });
    if (fault) return fault;
  }
  const after = heads.get(chainName(account_id, EVENT_LOG.log)) ?? 0n;
  const last = await findLastNumber(session, account_id);
  for (let number = after + 1n; number <= last; number += 1n) {
    const sealed = `select unnest(entry_ids) as id from seal_blocks
      where account_id = $1 and log = $2 and number = $3`;
    const ids = await listChanged(session, sealed, [account_id, EVENT_LOG.log, number]);
    const fault = await verifyChanged(session, account_id, ids);
    if (fault) return fault;
  }
  const unsealed = "select entry_id as id from seal_pending where account_id = $1 and log = $2";
  const ids = await listChanged(session, unsealed, [account_id, EVENT_LOG.log]);
  return verifyChanged(session, account_id, ids);
}

async function findLastNumber(session: Session, account_id: string): Promise<bigint> {
  const [row] = await session.query<{ number: bigint | null }>(
    "select max(number) as number from seal_blocks where account_id = $1 and log = $2",
    [account_id, EVENT_LOG.log],
  );
  return row!.number ?? 0n;
}

/**
 * The offramps whose last event is one of these, so that each is checked once. The events tell, not
 * the offramps: those were checked with the chain, which also knows of events that nobody sealed.
 */
async function listChanged(
  session: Session,
  entries: string,
  values: readonly unknown[],
): Promise<string[]> {
  const rows = await session.query<{ record_id: string }>(
    `select e.record_id from (${entries}) as entry
     join events e on e.account_id = $1 and e.id = entry.id
     where e.name = 'offramp_update' and not exists (
       select from events later where later.record_id = e.record_id
         and later.account_id = e.account_id and later.sequence > e.sequence)`,
    values,
  );
  return rows.map(({ record_id }) => record_id);
}

const OFFRAMPS_PER_PAGE = 500;

async function verifyChanged(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<string | null> {
  for (let from = 0; from < ids.length; from += OFFRAMPS_PER_PAGE) {
    const page = ids.slice(from, from + OFFRAMPS_PER_PAGE);
    const fault = await verifyPage(session, account_id, page);
    if (fault) return fault;
  }
  return null;
}

async function verifyPage(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<string | null> {
  const fault = await verifyOfframpsById(session, account_id, ids);
  if (fault || !hasMacs(session)) return fault;
  const keys = ids.map((id) => ({ account_id, id }));
  const links = await findOfframpLinks(session, keys);
  const quote_ids = [...new Set(links.map(({ quote_id }) => quote_id))];
  const quotes = await findQuotes(
    session,
    quote_ids.map((id) => ({ account_id, id })),
  );
  const quote = quotes.find((row) => !QUOTES.holds(session, row));
  if (quote) return `${QUOTES.nameOf(quote)} ${NOT_WRITTEN_HERE}`;
  const payout = (await listPayouts(session, keys)).find((row) => !PAYOUTS.holds(session, row));
  if (payout) return `${PAYOUTS.nameOf(payout)} ${NOT_WRITTEN_HERE}`;
  const balances = await session.query<StoredBalance>(
    `select account_id, ledger_account, currency, balance, last_entry_id, mac
     from ledger_balances where account_id = $1 and ledger_account = any($2::text[])`,
    [account_id, ids.map(payoutPending)],
  );
  const balance = balances.find((row) => !isSigned(session, row));
  if (!balance) return null;
  const name = `the balance of ${balance.ledger_account} in ${balance.currency}`;
  return `${name} of account ${account_id} ${NOT_WRITTEN_HERE}`;
}
