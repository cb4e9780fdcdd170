import type { Endpoint } from "../apps/model.ts";
import { listConsentingAccounts, listConsents } from "../apps/store.ts";
import { listEventsBetween } from "../events/order-store.ts";
import type { Session } from "../platform/db/database.ts";
import { firstIdAt } from "../platform/ids.ts";
import { isNotified } from "./audience.ts";
import { countMissed, listDeliveredEvents } from "./redelivery-store.ts";

type Range = { since: Date; until: Date; only_failed: boolean };

/** Enough to decide; a longer count would read as much as the replay itself. */
const EVENTS_READ_MAX = 5_000;
const CHUNK = 500;

/** How many events a replay would send; `is_more` where the count stopped early. */
export async function countReplay(
  session: Session,
  endpoint: Endpoint,
  range: Range,
): Promise<{ count: number; is_more: boolean }> {
  const ids = { after_id: firstIdAt(range.since), below_id: firstIdAt(range.until) };
  if (range.only_failed) {
    const count = await countMissed(session, endpoint, { ...ids, limit: EVENTS_READ_MAX + 1 });
    return { count: Math.min(count, EVENTS_READ_MAX), is_more: count > EVENTS_READ_MAX };
  }
  const granting =
    endpoint.flow === "authorization_code"
      ? await listConsentingAccounts(session, endpoint.id)
      : [];
  let [count, read] = [0, 0];
  for (const account_id of new Set([endpoint.account_id, ...granting])) {
    for (let after_id = ids.after_id; ; ) {
      if (read >= EVENTS_READ_MAX) return { count, is_more: true };
      const chunk = { ...ids, after_id, limit: CHUNK };
      const events = await listEventsBetween(session, account_id, chunk);
      count += await countOf(session, endpoint, account_id, events);
      read += events.length;
      if (events.length < CHUNK) break;
      after_id = events.at(-1)!.id;
    }
  }
  return { count, is_more: false };
}

async function countOf(
  session: Session,
  endpoint: Endpoint,
  account_id: string,
  events: Awaited<ReturnType<typeof listEventsBetween>>,
): Promise<number> {
  const sides = events.flatMap((event) => event.counterpart_account_id ?? []);
  const [consents, known] = await Promise.all([
    listConsents(session, [...new Set([account_id, ...sides])], [endpoint]),
    listDeliveredEvents(
      session,
      endpoint,
      events.map(({ id }) => id),
    ),
  ]);
  return events.filter((event) => known.has(event.id) || isNotified(endpoint, event, consents))
    .length;
}
