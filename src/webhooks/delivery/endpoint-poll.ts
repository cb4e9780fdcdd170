import { listConsentsHeld, listEndpointVersions } from "../../apps/store.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { findErasures } from "../store.ts";
import { type DueQuery, listMoreDue } from "./store.ts";

/** Who sends to an endpoint and has to know soon when its owner changed it. */
export type Polled = {
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
 * A turn lasts long and loads ahead, so a pause, another URL or secret, a consent taken back, or a
 * person erased, would come too late; and what becomes due while one request hangs would wait for
 * it: small queries for all senders of the process tell them, several times a second.
 */
export class EndpointPoll {
  readonly #database: Session;
  readonly #clock: Clock;
  readonly #keyring: Pick<Keyring, "forgetSubjects">;
  readonly #senders = new Set<Polled>();
  #timer: NodeJS.Timeout | null = null;
  #more_asked_ms = 0;
  #erasures: bigint | null = null;

  constructor(deps: {
    database: Session;
    clock: Clock;
    keyring: Pick<Keyring, "forgetSubjects">;
  }) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#keyring = deps.keyring;
  }

  add(sender: Polled): void {
    this.#senders.add(sender);
    this.#timer ??= setTimeout(() => void this.#ask(), EVERY_MS);
  }

  delete(sender: Polled): void {
    this.#senders.delete(sender);
  }

  /**
   * How many people were erased so far: what was opened under an older count must not be sent. The
   * keys that this process still has in memory go as soon as a higher count is seen.
   */
  async countErasures(): Promise<bigint> {
    const erasures = await findErasures(this.#database);
    if (this.#erasures !== erasures) this.#keyring.forgetSubjects();
    this.#erasures = erasures;
    return erasures;
  }

  async #ask(): Promise<void> {
    const asked_ms = performance.now();
    const asking = [...this.#senders].filter((sender) => {
      const seen_ms = sender.seenMs();
      return seen_ms !== null && asked_ms - seen_ms >= FRESH_MS;
    });
    const found = asking.length > 0 ? await this.#find(asking) : null;
    for (const sender of asking) {
      const version = found?.versions.get(sender.key.id);
      sender.look(found && { version, erasures: found.erasures }, asked_ms);
    }
    if (asked_ms - this.#more_asked_ms >= MORE_EVERY_MS) {
      this.#more_asked_ms = asked_ms;
      await this.#wakeIdle();
    }
    const is_needed = this.#senders.size > 0;
    this.#timer = is_needed ? setTimeout(() => void this.#ask(), EVERY_MS) : null;
  }

  async #wakeIdle(): Promise<void> {
    const idle = [...this.#senders].flatMap((sender) => {
      const query = sender.idleAfter();
      return query ? [{ sender, query }] : [];
    });
    if (idle.length === 0) return;
    const queries = idle.map(({ query }) => query);
    // Should the database be away, they are asked about again.
    const more = await listMoreDue(this.#database, queries, this.#clock.now()).catch(() => null);
    for (const { sender, query } of idle) if (more?.has(query.app_id)) sender.wake();
  }

  /** Null when the database is away; senders then wait. */
  async #find(senders: readonly Polled[]): Promise<Found | null> {
    const consents = senders.flatMap((sender) =>
      sender.accountIds().map((account_id) => ({ account_id, app_id: sender.key.id })),
    );
    try {
      const [rows, held, erasures] = await Promise.all([
        listEndpointVersions(
          this.#database,
          senders.map((sender) => sender.key),
        ),
        consents.length > 0 ? listConsentsHeld(this.#database, consents) : [],
        this.countErasures(),
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
