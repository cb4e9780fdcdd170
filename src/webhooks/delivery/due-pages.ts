import type { Endpoint } from "../../apps/model.ts";
import { openForApp, type SealedColumn } from "../../apps/model.ts";
import { listEndpoints } from "../../apps/store.ts";
import { bodyPlace } from "../../events/record-events.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { perAccount } from "../../platform/db/rows.ts";
import { DecryptionError, open as openSealed } from "../../platform/encryption/cipher.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { samplePlace } from "../send-sample.ts";
import { coalesce } from "./coalesce.ts";
import { planByRecord, planInOrder } from "./planner-store.ts";
import { LOOKED_AT_MAX, listSearchEnds, type SearchEnd } from "./search-store.ts";
import { readSecret, type SigningSecret } from "./sign.ts";
import {
  type DueDelivery,
  type DueQuery,
  listDueDeliveries,
  listDueOfRecords,
  type QueuePlace,
} from "./store.ts";

/** The body is decrypted only when it is sent, so that waiting bodies are in memory once. */
export type Sendable = { delivery: DueDelivery; open: (delivery: DueDelivery) => OpenBody };

/** The bytes to send, or the reason why there are none. */
type OpenBody = { body: Buffer; missing: null } | { body: null; missing: string };

export type DuePage = {
  /** Undefined when the application was deleted. */
  endpoint: OpenEndpoint | undefined;
  deliveries: Sendable[];
  is_last: boolean;
  /** Where the next page begins; null where this one began. */
  end: QueuePlace | null;
  /** Of a long queue: how many entries were looked at. */
  looked_at: number;
  /** The time up to which this page has what is due. */
  due_until: Date;
  /** The erasure count before the bodies' keys were read. */
  erasures: bigint;
};

/** An application with its secrets decrypted. */
export type OpenEndpoint = Endpoint & {
  account_key: Buffer;
  secret: SigningSecret | null;
  next_secret: SigningSecret | null;
  headers: Readonly<Record<string, string>>;
};

/** The next page; or, if records are named, the next delivery of each of them. */
export type LoadDue = (query: PageQuery) => Promise<DuePage>;
type PageQuery = DueQuery & { record_ids: readonly string[]; is_long: boolean };

const PAGE = { well: 500, failing: 16, bytes: 8_000_000 };

/** Loads what is due for several applications at once, with their secrets decrypted. */
export function createPageLoader(deps: {
  database: Database;
  clock: Clock;
  keyring: Keyring;
  countErasures: () => Promise<bigint>;
}): LoadDue {
  const { database, clock, keyring } = deps;
  return coalesce(async (queries: readonly PageQuery[]) => {
    const keys = queries.map(({ account_id, app_id }) => ({ account_id, id: app_id }));
    const due_until = clock.now();
    const [endpoints, { due, ends }, erasures] = await Promise.all([
      listEndpoints(database, keys),
      listDue(database, queries, due_until),
      deps.countErasures(),
    ]);
    const [account_keys, keyOf] = await Promise.all([
      keyring.openAccounts(database, endpoints),
      keyring.openOwners(database, due.map(ownerOf)),
    ]);
    const open = (delivery: DueDelivery) => openBody(delivery, keyOf(ownerOf(delivery)));
    const by_app = Map.groupBy(due, (delivery) => delivery.app_id);
    return queries.map(({ app_id }) => {
      const endpoint = endpoints.find((one) => one.id === app_id);
      const own = by_app.get(app_id) ?? [];
      const limit = endpoint?.failures_in_a_row ? PAGE.failing : PAGE.well;
      return {
        endpoint: endpoint && openEndpoint(endpoint, account_keys.get(endpoint.account_id)!),
        deliveries: own.map((delivery) => ({ delivery, open })),
        ...endOf(own, own.length >= limit, ends.get(app_id)),
        due_until,
        erasures,
      };
    });
  });
}

/** Where a page ends: with what it found, or with what was looked at for it. */
function endOf(own: readonly DueDelivery[], is_full: boolean, looked: SearchEnd | undefined) {
  const last = own.at(-1);
  const { looked_at = 0 } = looked ?? {};
  if (is_full || last?.has_next) return { is_last: false, end: placeOf(last!), looked_at };
  if (looked_at === LOOKED_AT_MAX) return { is_last: false, end: placeOf(looked!), looked_at };
  const end = looked ?? last;
  return { is_last: true, end: end ? placeOf(end) : null, looked_at };
}

const placeOf = ({ due_at, id }: QueuePlace) => ({ due_at, id });

async function listDue(
  database: Database,
  queries: readonly PageQuery[],
  now: Date,
): Promise<{ due: DueDelivery[]; ends: ReadonlyMap<string, SearchEnd> }> {
  const ends = new Map<string, SearchEnd>();
  const pages = queries.filter(({ record_ids }) => record_ids.length === 0);
  const records = queries.flatMap(({ account_id, app_id, record_ids }) =>
    record_ids.map((record_id) => ({ account_id, app_id, record_id })),
  );
  const found = await Promise.all([
    pages.length > 0
      ? perAccount(database, pages, (own) => listPages(database, own, now, ends))
      : [],
    perAccount(database, records, (own) => listOfRecords(database, own, now)),
  ]);
  return { due: found.flat(), ends };
}

function listPages(
  database: Database,
  pages: readonly PageQuery[],
  now: Date,
  ends: Map<string, SearchEnd>,
) {
  const long = pages.filter(({ is_long }) => is_long);
  return database.transaction(async (tx) => {
    const [found] = await Promise.all([
      long.length > 0 ? listSearchEnds(tx, long, now) : new Map<string, SearchEnd>(),
      planInOrder(tx),
    ]);
    for (const [app_id, end] of found) ends.set(app_id, end);
    const queries = pages.map((page) => ({ ...page, through: ends.get(page.app_id) ?? null }));
    return listDueDeliveries(tx, queries, now, PAGE);
  });
}

function listOfRecords(
  database: Database,
  records: Parameters<typeof listDueOfRecords>[1],
  now: Date,
) {
  if (!database.by_account) return listDueOfRecords(database, records, now);
  return database.transaction(async (tx) => {
    const [, due] = await Promise.all([planByRecord(tx), listDueOfRecords(tx, records, now)]);
    return due;
  });
}

function openEndpoint(endpoint: Endpoint, account_key: Buffer): OpenEndpoint {
  const opened = (column: SealedColumn) => {
    const sealed = endpoint[column];
    return sealed && openForApp(account_key, endpoint, column, sealed);
  };
  const secretOf = (column: SealedColumn) => {
    const text = opened(column);
    return text === null ? null : readSecret(text);
  };
  return {
    ...endpoint,
    account_key,
    secret: secretOf("webhook_secret"),
    next_secret: secretOf("webhook_secret_next"),
    headers: JSON.parse(opened("webhook_headers") ?? "{}"),
  };
}

/** For a sample, the account is the event's. */
function ownerOf({ event_account_id: account_id, subject_id }: DueDelivery) {
  return { account_id, subject_id };
}

function openBody(delivery: DueDelivery, key: Buffer | undefined): OpenBody {
  const { event_account_id, event_id } = delivery;
  const missing = (reason: string) => ({ body: null, missing: reason });
  if (delivery.consent === "withdrawn") return missing("The account withdrew its consent.");
  const sealed = delivery.sample ?? delivery.body;
  if (!sealed) return missing("The event's body was deleted after its retention period.");
  const place = delivery.sample ? samplePlace(delivery) : bodyPlace(event_account_id, event_id);
  if (!key) return missing("The user's data was erased.");
  try {
    return { body: openSealed(key, place, sealed), missing: null };
  } catch (error) {
    // One altered row must not stop the endpoint's other deliveries.
    if (error instanceof DecryptionError) return missing("The event's body cannot be decrypted.");
    throw error;
  }
}
