import { listEndpointVersions, listValidConsents } from "../../apps/store.ts";
import type { Clock } from "../../platform/clock.ts";
import { runForService } from "../../platform/db/caller-context.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { findErasures } from "../store.ts";
import { listMoreDue } from "./search-store.ts";
import type { DueQuery } from "./store.ts";

/** A sender that must learn soon when the owner changes its endpoint. */
export type Polled = {
  key: { account_id: string; id: string };
  /** When the endpoint was last confirmed unchanged; null when that does not matter. */
  seenMs(): number | null;
  /** The accounts whose consent the next deliveries need. */
  accountIds(): readonly string[];
  /** `seen` is null when the query failed. */
  look(seen: Seen | null, asked_ms: number): void;
  /** Set while the sender has free capacity and knows of nothing due. */
  idleAfter(): DueQuery | null;
  /** More is due. */
  wake(): void;
};

export type Seen = {
  /** Undefined when the endpoint or a consent no longer exists. */
  version: number | undefined;
  erasures: bigint;
};

type Found = { versions: Map<string, number>; erasures: bigint };

const EVERY_MS = 100;
const MORE_EVERY_MS = 500;
/** Endpoints seen this recently are not queried again. */
const FRESH_MS = EVERY_MS / 2;

/**
 * A turn is long and loads ahead, so a pause, a new URL or secret, a withdrawn consent or an
 * erasure would take effect too late, and deliveries that become due while a request hangs would
 * wait for it. This poll checks for all senders of the process, several times a second.
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
    // For all senders: it does not wait for the turn of the set that happened to be the first.
    this.#timer ??= runForService(() => setTimeout(() => void this.#ask(), EVERY_MS));
  }

  delete(sender: Polled): void {
    this.#senders.delete(sender);
  }

  /**
   * How many people were erased so far: a body decrypted under an older count must not be sent. A
   * higher count also drops the keys cached in this process.
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
    // If the database is unavailable, the next poll queries again.
    const more = await listMoreDue(this.#database, queries, this.#clock.now()).catch(() => null);
    for (const { sender, query } of idle) if (more?.has(query.app_id)) sender.wake();
  }

  /** Null when the database is unavailable; senders then wait. */
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
        consents.length > 0 ? listValidConsents(this.#database, consents) : [],
        this.countErasures(),
      ]);
      const versions = new Map(rows.map((row) => [row.id, row.webhook_version]));
      const is_held = new Set(held.map((one) => `${one.account_id} ${one.app_id}`));
      for (const { account_id, app_id } of consents) {
        if (!is_held.has(`${account_id} ${app_id}`)) versions.delete(app_id);
      }
      return { versions, erasures };
    } catch {
      // Writing the outcomes fails with the same error and reports it.
      return null;
    }
  }
}
