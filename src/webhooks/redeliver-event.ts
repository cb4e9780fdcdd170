import type { Transaction } from "../platform/db/database.ts";
import { wakeTasks } from "../platform/tasks/tasks.ts";
import { type Consent, type Endpoint, isTold, missingSetup } from "./audience.ts";
import { type Delivery, insertDeliveries } from "./delivery-store.ts";
import { newDelivery } from "./fan-out.ts";
import { DELIVER_TASK } from "./model.ts";
import { updateEventAgain } from "./redelivery-store.ts";
import type { EventRow } from "./store.ts";

/** Sends an event again, also to applications that were not set up when it happened. */
export async function redeliverEvent(
  tx: Transaction,
  input: {
    event_id: string;
    /** Undefined for a sample. */
    event: EventRow | undefined;
    deliveries: readonly Delivery[];
    endpoints: readonly Endpoint[];
    consents: readonly Consent[];
  },
  now: Date,
): Promise<void> {
  const { event_id, event, deliveries, endpoints, consents } = input;
  wakeTasks(tx, DELIVER_TASK, endpoints, now);
  const known = new Set(deliveries.map((delivery) => delivery.app_id));
  const missing = endpoints.filter(
    (endpoint) =>
      event !== undefined &&
      !known.has(endpoint.id) &&
      missingSetup(endpoint) === null &&
      isTold(endpoint, event, consents),
  );
  for (const { account_id, id } of endpoints) {
    if (known.has(id)) updateEventAgain(tx, { account_id, event_id, app_id: id }, now);
  }
  insertDeliveries(
    tx,
    missing.map((endpoint) => newDelivery(endpoint, event!, now)),
    now,
  );
}
