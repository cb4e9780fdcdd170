import type { Task } from "../platform/tasks/tasks.ts";
import { missingSetup } from "./audience.ts";
import type { DueQuery } from "./delivery-store.ts";
import type { LoadPage, OpenEndpoint, Page, Sendable } from "./due-pages.ts";
import { healthAfter } from "./endpoint-health.ts";
import type { EndpointWatch, Seen, Watcher } from "./endpoint-watch.ts";
import type { DeliverDeps, LaneState, Recorder } from "./lane-model.ts";
import { nextAttemptAt } from "./model.ts";
import type { Outcome } from "./outcome-store.ts";
import { sealAnswer } from "./sealed-answer.ts";
import { type SendResult, sendDelivery } from "./send-delivery.ts";

const UNDER_WAY_FIRST = 8;
const UNDER_WAY_MAX = 64;
/** The next page is asked for while this many are left: a slow answer must not stop the sending. */
const QUEUE_MIN = 400;
/** Outcomes that wait to be written; beyond, sending waits too. */
const UNWRITTEN_MAX = 2_000;
/** Then others get their turn. */
const TURN_MAX_MS = 20_000;
/** Nothing is sent on older knowledge: a change by the owner, or an erasure, takes effect. */
const SEEN_MAX_MS = 250;

/** One endpoint's turn: the deliveries that are due, a bounded number of them under way. */
export class Lane {
  readonly #deps: DeliverDeps;
  readonly #loadPage: LoadPage;
  readonly #recorder: Recorder;
  readonly #watch: EndpointWatch;
  readonly #watcher: Watcher;
  readonly #isHeld: () => boolean;
  readonly #state: LaneState;
  readonly #turn_ends_ms = performance.now() + TURN_MAX_MS;
  #queue: Sendable[] = [];
  /** The deliveries from when they are loaded until what came of them is written. */
  readonly #taken = new Set<string>();
  #erasures = 0n;
  #after: DueQuery["after"] = null;
  #is_last = false;
  #is_loading = false;
  #under_way = 0;
  #under_way_max = UNDER_WAY_FIRST;
  #unwritten = 0;
  #seen_ms = 0;
  #failed: { error: unknown } | null = null;
  #settle: { resolve: () => void; reject: (error: unknown) => void } | null = null;

  constructor(
    deps: DeliverDeps,
    task: Task,
    parts: {
      loadPage: LoadPage;
      recorder: Recorder;
      watch: EndpointWatch;
      isHeld: () => boolean;
    },
  ) {
    this.#deps = deps;
    this.#loadPage = parts.loadPage;
    this.#recorder = parts.recorder;
    this.#watch = parts.watch;
    this.#isHeld = parts.isHeld;
    this.#watcher = {
      key: { account_id: task.account_id, id: task.record_id },
      seenMs: () => (this.#queue.length > 0 ? this.#seen_ms : null),
      accountIds: () => this.#consentingAccountIds(),
      look: (seen, asked_ms) => this.#look(seen, asked_ms),
    };
    const endpoint = undefined;
    this.#state = { task, endpoint, health: null, disable_reason: null, is_over: false };
  }

  /** Sends until nothing that is due is left and all of it is written, or the turn is over. */
  sendDue(): Promise<void> {
    this.#queue = [];
    this.#taken.clear();
    this.#after = null;
    this.#is_last = false;
    this.#watch.add(this.#watcher);
    return new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#proceed();
    }).finally(() => this.#watch.delete(this.#watcher));
  }

  /** Gives the task back, for later or for good; false when there is more to send now. */
  end(): Promise<boolean> {
    return this.#recorder.end(this.#state);
  }

  #proceed(): void {
    const is_late = performance.now() > this.#turn_ends_ms;
    // Another worker may have the endpoint by now, and be sending the same.
    if (is_late || this.#deps.isStopping() || !this.#isHeld()) this.#state.is_over = true;
    while (this.#maySendMore()) void this.#guard(this.#send(this.#queue.shift()!));
    const wants_more = !this.#is_last && this.#queue.length < QUEUE_MIN;
    if (wants_more && !this.#is_loading && !this.#isStopped()) void this.#guard(this.#load());
    const is_idle = this.#under_way === 0 && this.#unwritten === 0 && !this.#is_loading;
    if (!is_idle || (this.#queue.length > 0 && !this.#isStopped())) return;
    const waiting = this.#settle;
    this.#settle = null;
    if (this.#failed) waiting?.reject(this.#failed.error);
    else waiting?.resolve();
  }

  #maySendMore(): boolean {
    return (
      this.#queue.length > 0 &&
      this.#under_way < this.#under_way_max &&
      this.#unwritten < UNWRITTEN_MAX &&
      performance.now() - this.#seen_ms <= SEEN_MAX_MS &&
      !this.#isStopped()
    );
  }

  #isStopped(): boolean {
    const { is_over, disable_reason, task } = this.#state;
    return (
      is_over || disable_reason !== null || this.#failed !== null || this.#recorder.isLost(task)
    );
  }

  #guard(work: Promise<void>): Promise<void> {
    const failed = (error: unknown) => {
      this.#failed ??= { error };
    };
    return work.catch(failed).then(() => this.#proceed());
  }

  async #load(): Promise<void> {
    this.#is_loading = true;
    const { account_id, record_id: app_id } = this.#state.task;
    const asked_ms = performance.now();
    try {
      const page = await this.#loadPage({ account_id, app_id, after: this.#after });
      this.#takeEndpoint(page.endpoint);
      this.#seen_ms = Math.max(this.#seen_ms, asked_ms);
      const is_open = page.endpoint !== undefined && maySend(page.endpoint);
      this.#learnErasures(page.erasures);
      if (is_open) this.#enqueue(page);
      else this.#queue = [];
      this.#is_last = page.is_last || !is_open;
      const last = page.deliveries.at(-1)?.delivery;
      if (last) this.#after = { due_at: last.due_at, id: last.id };
    } finally {
      this.#is_loading = false;
    }
  }

  #takeEndpoint(loaded: OpenEndpoint | undefined): void {
    const known = this.#state.endpoint;
    if (!loaded || !known || this.#after === null) {
      this.#state.endpoint = loaded;
      // One that was left alone for a while is tried with one request first.
      if (loaded && loaded.circuit_failures > 0) this.#under_way_max = 1;
      const until = loaded?.circuit_until;
      if (until && until > this.#deps.clock.now()) this.#state.is_over = true;
      return;
    }
    // It stays as it was first read: its health is ours to know during the turn.
    if (loaded.webhook_version !== known.webhook_version) this.#state.is_over = true;
  }

  /** But for what was asked for again while it is under way: it is loaded again afterwards. */
  #enqueue({ deliveries, erasures }: Page): void {
    const is_outdated = erasures < this.#erasures;
    for (const sendable of deliveries) {
      const { id, subject_id } = sendable.delivery;
      if (this.#taken.has(id) || (is_outdated && subject_id !== null)) continue;
      this.#taken.add(id);
      this.#queue.push(sendable);
    }
  }

  /** What speaks of people was opened before somebody was erased: it is loaded again. */
  #learnErasures(erasures: bigint): void {
    if (erasures <= this.#erasures) return;
    this.#erasures = erasures;
    const [kept, outdated] = [[], []] as [Sendable[], Sendable[]];
    for (const one of this.#queue) (one.delivery.subject_id === null ? kept : outdated).push(one);
    for (const { delivery } of outdated) this.#taken.delete(delivery.id);
    this.#queue = kept;
  }

  #consentingAccountIds(): string[] {
    const resting = this.#queue.filter(({ delivery }) => delivery.consent === "held");
    return [...new Set(resting.map(({ delivery }) => delivery.event_account_id))];
  }

  /** What was loaded for an endpoint that changed is left to the next turn. */
  #look(seen: Seen | null, asked_ms: number): void {
    const known = this.#state.endpoint?.webhook_version;
    if (seen !== null && known !== undefined) {
      this.#learnErasures(seen.erasures);
      if (seen.version === known) this.#seen_ms = Math.max(this.#seen_ms, asked_ms);
      else this.#state.is_over = true;
    }
    this.#proceed();
  }

  async #send(sendable: Sendable): Promise<void> {
    this.#under_way += 1;
    let outcome: Outcome;
    try {
      outcome = await this.#attempt(this.#state.endpoint!, sendable);
    } finally {
      this.#under_way -= 1;
    }
    this.#unwritten += 1;
    // The next one starts before this one is written.
    this.#proceed();
    try {
      await this.#recorder.write(this.#state, outcome);
    } finally {
      this.#unwritten -= 1;
      this.#taken.delete(outcome.delivery_id);
    }
  }

  async #attempt(endpoint: OpenEndpoint, sendable: Sendable): Promise<Outcome> {
    const { delivery } = sendable;
    const { body, missing } = sendable.open();
    const { clock, random } = this.#deps;
    const key = { account_id: delivery.account_id, delivery_id: delivery.id };
    const about = { ...key, app_id: delivery.app_id, due_at: delivery.due_at };
    if (body === null) {
      const settled = { status: "skipped", reason: missing, at: clock.now() } as const;
      return { ...about, ...settled, attempt: null, next_attempt_at: null };
    }
    const begun_ms = performance.now();
    const result = await sendDelivery(this.#deps, endpoint, delivery, body);
    const latency_ms = Math.round(performance.now() - begun_ms);
    const at = clock.now();
    this.#note(result, at);
    const number = delivery.attempts + 1;
    const next_attempt_at =
      result.is_success || result.is_gone
        ? null
        : nextAttemptAt(number - delivery.attempts_before, at, random(), result.retry_after_ms);
    const { status, error } = result;
    const answer = sealAnswer(endpoint, { ...key, number }, result.answer);
    return {
      ...about,
      attempt: { number, at, status, error, latency_ms, answer },
      status: result.is_success ? "delivered" : next_attempt_at ? "pending" : "failed",
      reason: error,
      next_attempt_at,
      at,
    };
  }

  #note(result: SendResult, now: Date): void {
    const state = this.#state;
    if (!state.endpoint) return;
    if (result.is_success && this.#under_way_max < UNDER_WAY_MAX) this.#under_way_max += 1;
    const before = state.health ?? state.endpoint;
    const after = healthAfter(before, result, state.is_over, now);
    const { account_id, id, webhook_version } = before;
    if (after.health) state.health = { ...after.health, account_id, id, webhook_version };
    state.disable_reason ??= after.disable_reason;
    state.is_over ||= after.is_opened;
  }
}

function maySend(endpoint: OpenEndpoint): boolean {
  return missingSetup(endpoint) === null && endpoint.webhook_state === "active";
}
