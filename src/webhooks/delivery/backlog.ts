import type { DuePage, Sendable } from "./due-pages.ts";
import type { SearchStart } from "./long-queues.ts";
import type { Written } from "./sender-model.ts";
import type { DueQuery, QueuePlace } from "./store.ts";

/** What an endpoint's sender has loaded, and where it loads more. */
export class Backlog {
  readonly #app: { account_id: string; app_id: string };
  #ready: Sendable[] = [];
  /** Deliveries from loading until their outcome is written. */
  readonly #taken = new Set<string>();
  /** Deliveries whose outcome was written while a page was read, which may still show them. */
  readonly #settled = new Set<string>();
  /** With ordered delivery: the records whose next event may be sent now. */
  #advanced: string[] = [];
  #start: SearchStart = { after: null, is_long: false, record_ids: [] };
  /** Null where the search began. */
  #after: QueuePlace | null = null;
  #has_loaded = false;
  #looked_at = 0;
  #due_until: Date | null = null;
  /** The records of which something was found that is to be loaded again. */
  readonly #left = new Set<string>();
  #is_all_loaded = false;
  #erasures = 0n;

  constructor({ account_id, id: app_id }: { account_id: string; id: string }) {
    this.#app = { account_id, app_id };
  }

  get size(): number {
    return this.#ready.length;
  }

  get isAtStart(): boolean {
    return !this.#has_loaded;
  }

  get isAllLoaded(): boolean {
    return this.#is_all_loaded && this.#advanced.length === 0;
  }

  get hasAdvanced(): boolean {
    return this.#advanced.length > 0;
  }

  /** What was looked at since the start, up to which time if all was loaded. */
  get searched() {
    return {
      start: this.#start,
      looked_at: this.#looked_at,
      reached: this.#after,
      loaded_until: this.isAllLoaded ? this.#due_until : null,
      left: [...this.#left, ...this.#advanced],
    };
  }

  /** Loads from there again. */
  restart(start: SearchStart): void {
    this.#start = start;
    this.#has_loaded = false;
    this.#looked_at = 0;
    this.#due_until = null;
    this.#left.clear();
    this.#advanced = [...start.record_ids];
    this.#after = null;
    this.#is_all_loaded = false;
  }

  clear(): void {
    this.leave(this.#ready.map(({ delivery }) => delivery.record_id));
    this.#ready = [];
    this.#taken.clear();
  }

  /** More may have become due after the last page. */
  reopen(): void {
    this.#is_all_loaded = false;
  }

  shift(): Sendable {
    return this.#ready.shift()!;
  }

  /** Where the next page begins. */
  nextPage(): DueQuery & { is_long: boolean } {
    const { after, is_long } = this.#start;
    return { ...this.#app, after: this.#after ?? after, is_long };
  }

  /** Loading begins: the records whose next event is loaded. */
  takeAdvanced(): string[] {
    const record_ids = this.#advanced;
    this.#advanced = [];
    this.#settled.clear();
    return record_ids;
  }

  /** The accounts whose consent the loaded deliveries need. */
  accountIds(): string[] {
    const consented = this.#ready.filter(({ delivery }) => delivery.consent === "held");
    return [...new Set(consented.map(({ delivery }) => delivery.event_account_id))];
  }

  /**
   * Skips deliveries requested again while they are being sent: they are loaded again afterwards.
   */
  add(page: DuePage, record_ids: readonly string[]): void {
    this.learnErasures(page.erasures);
    this.#has_loaded = true;
    const is_outdated = page.erasures < this.#erasures;
    for (const sendable of page.deliveries) {
      const { id, record_id, subject_id } = sendable.delivery;
      if (this.#settled.has(id)) {
        this.#advanced.push(record_id);
        continue;
      }
      if (this.#taken.has(id) || (is_outdated && subject_id !== null)) {
        this.#left.add(record_id);
        continue;
      }
      this.#taken.add(id);
      this.#ready.push(sendable);
    }
    if (record_ids.length > 0) return;
    this.#is_all_loaded = page.is_last;
    this.#after = page.end ?? this.#after;
    this.#looked_at += page.looked_at;
    this.#due_until = page.due_until;
  }

  /** The turn ends before what these records have was loaded. */
  leave(record_ids: readonly string[]): void {
    for (const record_id of record_ids) this.#left.add(record_id);
  }

  /** Nothing may be sent to the endpoint any more. */
  close(record_ids: readonly string[]): void {
    this.leave([...record_ids, ...this.#ready.map(({ delivery }) => delivery.record_id)]);
    this.#due_until = null;
    this.#ready = [];
    this.#is_all_loaded = true;
  }

  /** Drops bodies with personal data decrypted before an erasure: they are loaded again. */
  learnErasures(erasures: bigint): void {
    if (erasures <= this.#erasures) return;
    this.#erasures = erasures;
    const [kept, outdated] = [[], []] as [Sendable[], Sendable[]];
    for (const one of this.#ready) (one.delivery.subject_id === null ? kept : outdated).push(one);
    for (const { delivery } of outdated) {
      this.#taken.delete(delivery.id);
      this.#left.add(delivery.record_id);
    }
    this.#ready = kept;
  }

  written({ outcomes, followed }: Written, is_ordered: boolean): void {
    for (const outcome of outcomes) {
      this.#taken.delete(outcome.delivery_id);
      this.#settled.add(outcome.delivery_id);
      if (is_ordered && followed.has(outcome)) this.#advanced.push(outcome.record_id);
    }
  }
}
