import type { DuePage, Sendable } from "./due-pages.ts";
import type { Written } from "./sender-model.ts";
import type { DueQuery } from "./store.ts";

/** What an endpoint's sender has loaded, and where it loads more. */
export class Backlog {
  readonly #app: { account_id: string; app_id: string };
  #ready: Sendable[] = [];
  /** Deliveries from loading until their outcome is written. */
  readonly #taken = new Set<string>();
  /** With ordered delivery: the records whose next event may be sent now. */
  #advanced: string[] = [];
  #after: DueQuery["after"] = null;
  #is_all_loaded = false;
  #erasures = 0n;

  constructor({ account_id, id: app_id }: { account_id: string; id: string }) {
    this.#app = { account_id, app_id };
  }

  get size(): number {
    return this.#ready.length;
  }

  get isAtStart(): boolean {
    return this.#after === null;
  }

  get isAllLoaded(): boolean {
    return this.#is_all_loaded && this.#advanced.length === 0;
  }

  get hasAdvanced(): boolean {
    return this.#advanced.length > 0;
  }

  /** Loads from the start again. */
  restart(): void {
    this.#advanced = [];
    this.#after = null;
    this.#is_all_loaded = false;
  }

  clear(): void {
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
  nextPage(): DueQuery {
    return { ...this.#app, after: this.#after };
  }

  /** The records whose next event is loaded now. */
  takeAdvanced(): string[] {
    const record_ids = this.#advanced;
    this.#advanced = [];
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
  add({ deliveries, erasures, is_last }: DuePage, record_ids: readonly string[]): void {
    this.learnErasures(erasures);
    const is_outdated = erasures < this.#erasures;
    for (const sendable of deliveries) {
      const { id, subject_id } = sendable.delivery;
      if (this.#taken.has(id) || (is_outdated && subject_id !== null)) continue;
      this.#taken.add(id);
      this.#ready.push(sendable);
    }
    if (record_ids.length > 0) return;
    this.#is_all_loaded = is_last;
    const last = deliveries.at(-1)?.delivery;
    if (last) this.#after = { due_at: last.due_at, id: last.id };
  }

  /** Nothing may be sent to the endpoint any more. */
  close(): void {
    this.#ready = [];
    this.#is_all_loaded = true;
  }

  /** Drops bodies with personal data decrypted before an erasure: they are loaded again. */
  learnErasures(erasures: bigint): void {
    if (erasures <= this.#erasures) return;
    this.#erasures = erasures;
    const [kept, outdated] = [[], []] as [Sendable[], Sendable[]];
    for (const one of this.#ready) (one.delivery.subject_id === null ? kept : outdated).push(one);
    for (const { delivery } of outdated) this.#taken.delete(delivery.id);
    this.#ready = kept;
  }

  written({ outcomes, followed }: Written, is_ordered: boolean): void {
    for (const outcome of outcomes) {
      this.#taken.delete(outcome.delivery_id);
      if (is_ordered && followed.has(outcome)) this.#advanced.push(outcome.record_id);
    }
  }
}
