import type { Rail } from "../../catalogue/rails.ts";
import type { Session, Transaction } from "../../platform/db/database.ts";

type Route = { currency: string; rail: Rail };

/** The currencies and rails of which a bank has booked a payout. */
export function listProvenRails(session: Session): Promise<Route[]> {
  return session.query("select currency, rail from proven_rails");
}

/** One that is known is passed over without a lock. */
export function insertProvenRails(tx: Transaction, routes: readonly Route[], now: Date): void {
  tx.write(
    `insert into proven_rails (currency, rail, proven_at)
     select route.currency, route.rail, $3
     from unnest($1::text[], $2::text[]) as route (currency, rail)
     where not exists (select from proven_rails known
       where known.currency = route.currency and known.rail = route.rail)
     on conflict do nothing`,
    [routes.map(({ currency }) => currency), routes.map(({ rail }) => rail), now],
  );
}
