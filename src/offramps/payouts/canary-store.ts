import type { Rail } from "../../catalogue/rails.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";

type Route = { currency: string; rail: Rail };

/** An account of ours from which a bank has booked a payout of this currency and rail. */
export type ProvenRail = Route & { bank_account: string };

export function listProvenRails(session: Session): Promise<ProvenRail[]> {
  return session.query("select bank_account, currency, rail from proven_rails");
}

/**
 * What banks have of these rails and have not answered. Who asks after this one waits until its
 * transaction ends, so that two callers do not count the same rest.
 */
export async function lockUnansweredSums(
  tx: Transaction,
  routes: readonly Route[],
): Promise<(Route & { amount: bigint })[]> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('new rails', 0))");
  return tx.query(
    `select o.destination_currency as currency, o.rails as rail,
       sum(o.destination_amount)::bigint as amount
     from payouts p join offramps o on o.account_id = p.account_id and o.id = p.offramp_id
     where p.status in ('submitting', 'sent')
       and (o.destination_currency, o.rails) in (select * from unnest($1::text[], $2::text[]))
     group by 1, 2`,
    [routes.map(({ currency }) => currency), routes.map(({ rail }) => rail)],
  );
}

/** One that is known is passed over without a lock. */
export function insertProvenRails(tx: Transaction, rails: readonly ProvenRail[], now: Date): void {
  tx.write(
    `insert into proven_rails (bank_account, currency, rail, proven_at)
     select new.*, $4 from unnest($1::text[], $2::text[], $3::text[]) as
       new (bank_account, currency, rail)
     where not exists (select from proven_rails known where known.bank_account = new.bank_account
       and known.currency = new.currency and known.rail = new.rail)
     on conflict do nothing`,
    [
      rails.map(({ bank_account }) => bank_account),
      rails.map(({ currency }) => currency),
      rails.map(({ rail }) => rail),
      now,
    ],
  );
}
