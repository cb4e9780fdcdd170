import type {
  OutboundAnswer,
  OutboundFailure,
} from "../partners/outbound-http/outbound-request.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import { missingSetup } from "./audience.ts";
import { readResult, requestOf, type SendResult } from "./delivery-request.ts";
import type { DueDelivery, DueQuery } from "./delivery-store.ts";
import type { LoadPage, OpenEndpoint, Page, Sendable } from "./due-pages.ts";
import { healthAfter } from "./endpoint-health.ts";
import type { EndpointWatch, Seen, Watcher } from "./endpoint-watch.ts";
import type { DeliverDeps, LaneState, Recorder } from "./lane-model.ts";
import { outcomeOf, outcomeUnsent } from "./outcome.ts";

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
  #is_writing = false;
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
      idleAfter: () => this.#idleAfter(),
      wake: () => {
        // The turn may have ended while it was asked: the endpoint may be another's by now.
        if (!this.#settle) return;
        this.#is_last = false;
        this.#proceed();
      },
    };
    this.#state = {
      task,
      outcomes: [],
      endpoint: undefined,
      health: null,
      disable_reason: null,
      is_over: false,
    };
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
    while (this.#maySendMore()) this.#send(this.#queue.shift()!);
    if (this.#state.outcomes.length > 0 && !this.#is_writing) void this.#guard(this.#write());
    const wants_more = !this.#is_last && this.#queue.length < this.#queueMin();
    if (wants_more && !this.#is_loading && !this.#isStopped()) void this.#guard(this.#load());
    const is_idle = this.#under_way === 0 && !this.#is_writing && !this.#is_loading;
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
      this.#state.outcomes.length < UNWRITTEN_MAX &&
      performance.now() - this.#seen_ms <= SEEN_MAX_MS &&
      !this.#isStopped()
    );
  }

  /** One that fails is not read ahead for: it may take long until it is sent anything. */
  #queueMin(): number {
    const { health, endpoint } = this.#state;
    const failures = (health ?? endpoint)?.failures_in_a_row ?? 0;
    return failures > 0 ? 1 : QUEUE_MIN;
  }

  #isStopped(): boolean {
    const { is_over, disable_reason, task } = this.#state;
    return (
      is_over || disable_reason !== null || this.#failed !== null || this.#recorder.isLost(task)
    );
  }

  #guard(work: Promise<void>): Promise<void> {
    return work.catch(this.#fail).then(() => this.#proceed());
  }

  readonly #fail = (error: unknown): void => {
    this.#failed ??= { error };
  };

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

  /** What waits for an answer leaves places free, and more may have become due meanwhile. */
  #idleAfter(): DueQuery | null {
    const is_idle = this.#is_last && this.#queue.length === 0 && this.#under_way > 0;
    if (!is_idle || this.#under_way >= this.#under_way_max || this.#isStopped()) return null;
    const { account_id, record_id: app_id } = this.#state.task;
    return { account_id, app_id, after: this.#after };
  }

  #send({ delivery, open }: Sendable): void {
    const { clock, sender } = this.#deps;
    // It may be gone, or another one, when the answer comes.
    const endpoint = this.#state.endpoint!;
    try {
      const { body, missing } = open(delivery);
      if (body === null) {
        this.#state.outcomes.push(outcomeUnsent(delivery, missing, clock.now()));
        return;
      }
      const begun_ms = performance.now();
      const answered = sender.send(requestOf(clock, endpoint, delivery, body));
      this.#under_way += 1;
      answered.then(
        (answer) => this.#answered(() => this.#judge(endpoint, delivery, answer, begun_ms)),
        (error) => this.#answered(() => this.#fail(error)),
      );
    } catch (error) {
      this.#fail(error);
    }
  }

  #answered(judge: () => void): void {
    this.#under_way -= 1;
    try {
      judge();
    } catch (error) {
      this.#fail(error);
    }
    this.#proceed();
  }

  #judge(
    { account_key }: OpenEndpoint,
    delivery: DueDelivery,
    answer: OutboundAnswer | OutboundFailure,
    begun_ms: number,
  ): void {
    const { clock, random } = this.#deps;
    const latency_ms = Math.round(performance.now() - begun_ms);
    const result = readResult(clock, answer);
    const at = clock.now();
    this.#note(result, at);
    this.#state.outcomes.push(outcomeOf(delivery, result, { at, latency_ms, account_key, random }));
  }

  async #write(): Promise<void> {
    this.#is_writing = true;
    try {
      const written = await this.#recorder.write(this.#state);
      for (const { delivery_id } of written) this.#taken.delete(delivery_id);
    } finally {
      this.#is_writing = false;
    }
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
