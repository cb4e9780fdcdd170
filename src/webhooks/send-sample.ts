import { type App, missingSetup } from "../apps/model.ts";
import { listEndpointsFor } from "../apps/store.ts";
import { type EventName, INVOICE_EVENTS } from "../events/model.ts";
import type { Database } from "../platform/db/database.ts";
import { type Place, seal } from "../platform/encryption/cipher.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { newId } from "../platform/ids.ts";
import { handOver } from "./fan-out.ts";

/**
 * Sends a sample event to every application of the account that subscribed to it (invoice events
 * need no subscription), or to one of them. It belongs to no record, so it appears only among the
 * deliveries.
 */
export async function sendSample(
  { database, keyring }: { database: Database; keyring: Keyring },
  account_id: string,
  sample: { name: EventName; body: string; app_id?: string },
  now: Date,
): Promise<number> {
  const endpoints = await listEndpointsFor(database, account_id);
  const receivers = endpoints.filter(
    (endpoint) =>
      endpoint.account_id === account_id &&
      (sample.app_id === undefined || sample.app_id === endpoint.id) &&
      missingSetup(endpoint) === null &&
      endpoint.webhook_state !== "disabled" &&
      chose(endpoint, sample.name),
  );
  const key = await keyring.openAccount(database, account_id);
  await database.transaction(async (tx) => {
    const event_id = newId(now);
    const deliveries = receivers.map((endpoint) => {
      const id = newId(now);
      const place = samplePlace({ account_id, id });
      return {
        account_id,
        id,
        app_id: endpoint.id,
        event_account_id: account_id,
        event_id,
        name: sample.name,
        record_id: event_id,
        sequence: 1,
        status: "pending" as const,
        reason: null,
        body: seal(key, 1, place, Buffer.from(sample.body)),
      };
    });
    handOver(tx, deliveries, now);
  });
  return receivers.length;
}

function chose(app: App, name: EventName): boolean {
  return (
    (INVOICE_EVENTS as readonly string[]).includes(name) ||
    (app.events as readonly string[]).includes(name)
  );
}

export function samplePlace({ account_id, id }: { account_id: string; id: string }): Place {
  return { account_id, table: "webhook_deliveries", column: "body", record_id: id };
}
