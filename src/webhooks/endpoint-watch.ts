import { listConsentsHeld, listEndpointVersions } from "../access/apps-store.ts";
import type { Clock } from "../platform/clock.ts";
import type { Session } from "../platform/db/database.ts";
import { type DueQuery, listMoreDue } from "./delivery-store.ts";
import type { Erasures } from "./erasures.ts";

/** Who sends to an endpoint and has to know soon when its owner changed it. */
export type Watcher = {
  key: { account_id: string; id: string };
  /** When the endpoint was last known to be as the sender believes; null when that is no matter. */
  seenMs(): number | null;
  /** The accounts on whose consent what it is about to send rests. */
  accountIds(): readonly string[];
  /** Null when it could not be asked for. */
  look(seen: Seen | null, asked_ms: number): void;
  /** Set while it could send more, and knows of nothing that is due. */
  idleAfter(): DueQuery | null;
  /** More is due. */
  wake(): void;
};

export type Seen = {
  /** Undefined when the endpoint or a consent is gone. */
  version: number | undefined;
  erasures: bigint;
};

type Found = { versions: Map<string, number>; erasures: bigint };

const EVERY_MS = 100;
const MORE_EVERY_MS = 500;
/** What was seen so recently is not asked for again. */
const FRESH_MS = EVERY_MS / 2;

/**
 * A turn lasts long and loads ahead, so a pause, another address or secret, a consent taken back,
 * or a person erased, would come too late; and what becomes due while one request hangs would wait
 * for it: small queries for all senders of the process tell them, several times a second.
 */
export class EndpointWatch {
  readonly #database: Session;
  readonly #clock: Clock;
  readonly #erasures: Erasures;
  readonly #watchers = new Set<Watcher>();
  #timer: NodeJS.Timeout | null = null;
  #more_asked_ms = 0;

  constructor(deps: { database: Session; clock: Clock }, erasures: Erasures) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#erasures = erasures;
  }

  add(watcher: Watcher): void {
    this.#watchers.add(watcher);
    this.#timer ??= setTimeout(() => void this.#ask(), EVERY_MS);
  }

  delete(watcher: Watcher): void {
    this.#watchers.delete(watcher);
  }

  async #ask(): Promise<void> {
    const asked_ms = performance.now();
    const asking = [...this.#watchers].filter((watcher) => {
      const seen_ms = watcher.seenMs();
      return seen_ms !== null && asked_ms - seen_ms >= FRESH_MS;
    });
    const found = asking.length > 0 ? await this.#find(asking) : null;
    for (const watcher of asking) {
      const version = found?.versions.get(watcher.key.id);
      watcher.look(found && { version, erasures: found.erasures }, asked_ms);
    }
    if (asked_ms - this.#more_asked_ms >= MORE_EVERY_MS) {
      this.#more_asked_ms = asked_ms;
      await this.#wakeIdle();
    }
    const is_needed = this.#watchers.size > 0;
    this.#timer = is_needed ? setTimeout(() => void this.#ask(), EVERY_MS) : null;
  }

  async #wakeIdle(): Promise<void> {
    const idle = [...this.#watchers].flatMap((watcher) => {
      const query = watcher.idleAfter();
      return query ? [{ watcher, query }] : [];
    });
    if (idle.length === 0) return;
    const queries = idle.map(({ query }) => query);
    // Should the database be away, they are asked about again.
    const more = await listMoreDue(this.#database, queries, this.#clock.now()).catch(() => null);
    for (const { watcher, query } of idle) if (more?.has(query.app_id)) watcher.wake();
  }

  /** Null when the database is away; senders then wait. */
  async #find(watchers: readonly Watcher[]): Promise<Found | null> {
    const consents = watchers.flatMap(({ key, accountIds }) =>
      accountIds().map((account_id) => ({ account_id, app_id: key.id })),
    );
    try {
      const [rows, held, erasures] = await Promise.all([
        listEndpointVersions(
          this.#database,
          watchers.map((watcher) => watcher.key),
        ),
        consents.length > 0 ? listConsentsHeld(this.#database, consents) : [],
        this.#erasures.count(),
      ]);
      const versions = new Map(rows.map((row) => [row.id, row.webhook_version]));
      const is_held = new Set(held.map((one) => `${one.account_id} ${one.app_id}`));
      for (const { account_id, app_id } of consents) {
        if (!is_held.has(`${account_id} ${app_id}`)) versions.delete(app_id);
      }
      return { versions, erasures };
    } catch {
      // Whoever writes what was sent meets with the same, and tells it.
      return null;
    }
  }
}
