import { listConsents } from "../apps/store.ts";
import { findEvent, type StoredEvent } from "../events/order-store.ts";
import { bodyPlace } from "../events/record-events.ts";
import { open } from "../platform/encryption/cipher.ts";
import type { ModuleCore } from "../platform/module.ts";
import { openAnswer } from "./delivery/sealed-answer.ts";
import type { Delivery } from "./delivery/store.ts";
import { listAttempts, listDeliveriesOfEvent } from "./redelivery-store.ts";
import type { ReadableDelivery, ReadableEvent } from "./render.ts";

type FindDeps = Pick<ModuleCore, "database" | "keyring">;

const ATTEMPTS_SHOWN = 20;
/** Each attempt may show 16 kB, up to six times as long when escaped. */
const ATTEMPTS_OF_ANSWER_MAX = 100;

/** The event is undefined for a sample. */
export type FoundEvent = { event: StoredEvent | undefined; deliveries: Delivery[] };

/**
 * An event of this account, or one sent to an application of this account, as long as the event's
 * account consents.
 */
export async function findDeliveries(
  { database }: Pick<FindDeps, "database">,
  account_id: string,
  id: string,
): Promise<FoundEvent> {
  const [own, all] = await Promise.all([
    findEvent(database, account_id, id),
    listDeliveriesOfEvent(database, account_id, id),
  ]);
  const owner_id = all.find((one) => one.event_account_id !== account_id)?.event_account_id;
  if (own || owner_id === undefined) return { event: own, deliveries: all };
  const apps = all.map(({ app_id }) => ({ id: app_id }));
  const consents = await listConsents(database, [owner_id], apps);
  const deliveries = all.filter(({ app_id }) => consents.some((one) => one.app_id === app_id));
  const event = deliveries.length > 0 ? await findEvent(database, owner_id, id) : undefined;
  return { event, deliveries };
}

export async function openEvents(
  { database, keyring }: FindDeps,
  events: readonly StoredEvent[],
): Promise<ReadableEvent[]> {
  const keyOf = await keyring.openOwners(database, events);
  return events.map((event) => {
    const { account_id, id, body } = event;
    const key = keyOf(event);
    const text = key && body ? open(key, bodyPlace(account_id, id), body).toString() : null;
    return { ...event, text };
  });
}

export async function withAttempts(
  { database, keyring }: FindDeps,
  account_id: string,
  deliveries: readonly Delivery[],
): Promise<ReadableDelivery[]> {
  const ids = deliveries.map((delivery) => delivery.id);
  const shown = Math.min(ATTEMPTS_SHOWN, Math.floor(ATTEMPTS_OF_ANSWER_MAX / ids.length));
  const [attempts, key] = await Promise.all([
    listAttempts(database, account_id, ids, shown),
    keyring.openAccount(database, account_id),
  ]);
  const readable = attempts.map((attempt) => {
    const { answer, ...rest } = attempt;
    const text = answer && openAnswer(key, { ...rest, account_id }, answer).toString();
    return { ...rest, answer: text };
  });
  const by_delivery = Map.groupBy(readable, (attempt) => attempt.delivery_id);
  return deliveries.map((delivery) => ({
    delivery,
    attempts: by_delivery.get(delivery.id) ?? [],
  }));
}
