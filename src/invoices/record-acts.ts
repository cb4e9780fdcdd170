import { recordAudits } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Caller } from "../platform/http/route.ts";
import type { ChangeName } from "./model.ts";

/** Who requested a change of an invoice. */
export type ActedBy = {
  actor: Actor;
  /** Whom the application acted for. */
  person_id?: string;
};

type InvoiceAct = { account_id: string; invoice_id: string; name: ChangeName; by: ActedBy };

/** An application's token is gone after a day: the application and the person are named. */
export function actedBy({ actor, app_id, person_id, credential_id }: Caller): ActedBy {
  const by = actor ?? (app_id ? (`app:${app_id}` as const) : (`api_key:${credential_id}` as const));
  return { actor: by, ...(person_id ? { person_id } : {}) };
}

/**
 * The history of an invoice says which account acted. Its own log says who did: some changes, such
 * as that of where the buyer pays, have no event, and those of the other party are its events.
 */
export function recordActs(tx: Transaction, acts: readonly InvoiceAct[], now: Date): void {
  recordAudits(
    tx,
    acts.map(({ account_id, invoice_id, name, by: { actor, ...whom } }) => ({
      ...{ account_id, actor, action: "invoice.change" as const },
      ...{ record: `invoice:${invoice_id}`, reason: "", detail: { change: name, ...whom } },
    })),
    now,
  );
}
