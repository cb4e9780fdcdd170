import { DELIVER_TASK, type Endpoint } from "../apps/model.ts";
import type { EventRow } from "../events/store.ts";
import type { Transaction } from "../platform/db/database.ts";
import { type Problem, Refusal } from "../platform/errors.ts";
import { wakeTasks } from "../platform/tasks/tasks.ts";
import { type AudienceConsent, isNotified, resendProblem } from "./audience.ts";
import { type Delivery, insertDeliveries } from "./delivery/store.ts";
import { newDelivery } from "./fan-out.ts";
import { updateEventAgain } from "./redelivery-store.ts";

type Redelivery = {
  event_id: string;
  /** Undefined for a sample. */
  event: EventRow | undefined;
  deliveries: readonly Delivery[];
  endpoints: readonly Endpoint[];
};

/** The applications that the event can be sent to; refuses, with the reason, if there are none. */
export function chooseReceivers(
  { event, deliveries, endpoints }: Redelivery,
  consents: readonly AudienceConsent[],
  is_one_wanted: boolean,
): Endpoint[] {
  const receivers = endpoints.filter(
    (endpoint) =>
      deliveries.some((delivery) => delivery.app_id === endpoint.id) ||
      (event !== undefined && isNotified(endpoint, event, consents)),
  );
  if (receivers.length === 0 && is_one_wanted) throw Refusal.of([NOT_A_RECEIVER]);
  const refusals = receivers.map(resendProblem);
  const ready = receivers.filter((_, index) => refusals[index] === null);
  const reason = refusals.find((refusal) => refusal !== null);
  if (ready.length === 0 && reason) throw Refusal.of([reason]);
  return ready;
}

const NOT_A_RECEIVER: Problem = {
  field: "app_id",
  code: "invalid_transition",
  message: "The application does not receive this event; send the id of one that does.",
};

/** Sends an event again, also to applications that were not set up when it happened. */
export async function redeliverEvent(
  tx: Transaction,
  { event_id, event, deliveries, endpoints }: Redelivery,
  now: Date,
): Promise<void> {
  wakeTasks(tx, DELIVER_TASK, endpoints, now);
  const known = new Set(deliveries.map((delivery) => delivery.app_id));
  const missing = endpoints.filter((endpoint) => !known.has(endpoint.id));
  for (const { account_id, id } of endpoints) {
    if (known.has(id)) updateEventAgain(tx, { account_id, event_id, app_id: id }, now);
  }
  insertDeliveries(
    tx,
    missing.map((endpoint) => newDelivery(endpoint, event!, now)),
    now,
  );
}
