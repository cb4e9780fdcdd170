import type { KeyObject } from "node:crypto";
import { findNextBlock } from "../events/order-store.ts";
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
  for (const sealed of SEALED_TABLES) {
    const after = heads.get(chainName(account_id, sealed.log)) ?? 0n;
    const fault = await verifyChain(session, key, sealed, account_id, { ...time, after });
    if (fault) return fault;
  }
  let number = heads.get(chainName(account_id, EVENT_LOG.log)) ?? 0n;
  for (;;) {
    const block = await findNextBlock(session, account_id, number);
    if (!block) break;
    const changed = block.events.filter(({ name }) => name === "offramp_update");
    const fault = await verifyChanged(session, account_id, recordsOf(changed));
    if (fault) return fault;
    number = block.number;
  }
  return verifyChanged(session, account_id, await listUnsealed(session, account_id));
}

function recordsOf(events: readonly { record_id: string }[]): string[] {
  return [...new Set(events.map(({ record_id }) => record_id))];
}

/** The offramps whose last changes are not sealed yet. */
async function listUnsealed(session: Session, account_id: string): Promise<string[]> {
  const rows = await session.query<{ record_id: string }>(
    `select distinct e.record_id from seal_pending p
     join events e on e.account_id = p.account_id and e.id = p.entry_id
     where p.account_id = $1 and p.log = $2 and e.name = 'offramp_update'`,
    [account_id, EVENT_LOG.log],
  );
  return recordsOf(rows);
}

async function verifyChanged(
  session: Session,
  account_id: string,
  ids: readonly string[],
): Promise<string | null> {
  if (ids.length === 0) return null;
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
