import { missingSetup } from "../../apps/model.ts";
import type { OutboundResult } from "../../partners/outbound-http/outbound-request.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { Backlog } from "./backlog.ts";
import type { LoadDue, OpenEndpoint, Sendable } from "./due-pages.ts";
import { healthAfter } from "./endpoint-health.ts";
import type { EndpointPoll, Polled, Seen } from "./endpoint-poll.ts";
import type { LongQueues } from "./long-queues.ts";
import { outcomeOf, outcomeUnsent } from "./outcome.ts";
import { readResult, requestOf, type SendResult } from "./request.ts";
import type { DeliverDeps, Recorder, Turn } from "./sender-model.ts";
import type { DueDelivery, DueQuery } from "./store.ts";

const UNDER_WAY_FIRST = 8;
const UNDER_WAY_MAX = 64;
/** Loads the next page while this many are left, so that a slow query does not stop sending. */
const READY_MIN = 400;
/** Outcomes that wait to be written; above this, sending waits. */
const UNWRITTEN_MAX = 2_000;
/** Then other endpoints get a turn. */
const TURN_MAX_MS = 20_000;
/** Sending waits for newer data than this, so that an owner's change or an erasure takes effect. */
const SEEN_MAX_MS = 250;

type Parts = {
  loadDue: LoadDue;
  recorder: Recorder;
  poll: EndpointPoll;
  long_queues: LongQueues;
  isHeld: () => boolean;
};

/**
 * Sends what is due to one endpoint, with a bounded number of open requests. Every event ends in
 * `#proceed`, which does what is possible next.
 *
 * | phase    | what the sender does               | what ends it                            |
 * |----------|------------------------------------|-----------------------------------------|
 * | sending  | loads what is due, sends, writes   | nothing left: drained; `stop`: stopping |
 * | stopping | waits for answers, writes          | all written: stopped                    |
 * | drained  | nothing; everything due was sent   | `sendDue`: sending                      |
 * | stopped  | nothing; more may be due           |                                         |
 *
 * It is stopped when its time is over, the endpoint was changed, disabled, deleted or opened its
 * circuit, another worker has its task, the process ends, or something failed.
 */
export class EndpointSender implements Polled {
  readonly key: { account_id: string; id: string };
  readonly #deps: DeliverDeps;
  readonly #parts: Parts;
  readonly #turn: Turn;
  readonly #backlog: Backlog;
  readonly #ends_ms = performance.now() + TURN_MAX_MS;
  #settle: { resolve: () => void; reject: (error: unknown) => void } | null = null;
  #error: { error: unknown } | null = null;
  readonly #at_work = { requests: 0, requests_max: UNDER_WAY_FIRST, load: false, write: false };
  /** When the endpoint was last known to be unchanged. */
  #seen_ms = 0;

  constructor(deps: DeliverDeps, task: Task, parts: Parts) {
    this.key = { account_id: task.account_id, id: task.record_id };
    this.#deps = deps;
    this.#parts = parts;
    this.#backlog = new Backlog(this.key);
    const unknown = { endpoint: undefined, health: null, disable_reason: null, all_wait: null };
    this.#turn = { task, phase: "drained", outcomes: [], ...unknown };
  }

  /** Sends until everything due is sent and written, or until it is stopped. */
  sendDue(): Promise<void> {
    const { poll, long_queues } = this.#parts;
    this.#turn.phase = "sending";
    this.#backlog.restart(long_queues.begin(this.key));
    poll.add(this);
    return new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#proceed();
    }).finally(() => poll.delete(this));
  }

  /** Returns the task, for later or as done; false when there is more to send now. */
  async end(): Promise<boolean> {
    const { recorder, long_queues } = this.#parts;
    this.#turn.all_wait = null;
    const is_ended = await recorder.end(this.#turn);
    const { endpoint, phase, all_wait } = this.#turn;
    const { loaded_until, ...searched } = this.#backlog.searched;
    const sent_until = phase === "drained" ? loaded_until : null;
    if (!endpoint?.is_ordered) long_queues.forget(this.key);
    else long_queues.ended(this.key, { ...searched, sent_until, all_wait });
    return is_ended;
  }

  // Called by the poll.

  seenMs(): number | null {
    return this.#backlog.size > 0 ? this.#seen_ms : null;
  }

  accountIds(): string[] {
    return this.#backlog.accountIds();
  }

  /** What was loaded for an endpoint that changed is left to the next turn. */
  look(seen: Seen | null, asked_ms: number): void {
    const known = this.#turn.endpoint?.webhook_version;
    if (seen !== null && known !== undefined) {
      this.#backlog.learnErasures(seen.erasures);
      if (seen.version === known) this.#seen_ms = Math.max(this.#seen_ms, asked_ms);
      else this.#stop();
    }
    this.#proceed();
  }

  /** While requests are open, slots may be free and more may have become due. */
  idleAfter(): DueQuery | null {
    const { requests, requests_max } = this.#at_work;
    const is_idle = this.#backlog.isAllLoaded && this.#backlog.size === 0 && requests > 0;
    const may_send = this.#turn.phase === "sending" && requests < requests_max;
    return is_idle && may_send ? this.#backlog.nextPage() : null;
  }

  wake(): void {
    // The turn may have ended during the query: another worker may have the endpoint by now.
    if (this.#turn.phase !== "sending") return;
    this.#backlog.reopen();
    this.#proceed();
  }

  #stop(error?: { error: unknown }): void {
    this.#error ??= error ?? null;
    if (this.#turn.phase === "sending") this.#turn.phase = "stopping";
  }

  #proceed(): void {
    const turn = this.#turn;
    if (!this.#settle) return;
    const is_late = performance.now() > this.#ends_ms;
    const is_ours = this.#parts.isHeld() && !this.#parts.recorder.isLost(turn.task);
    if (is_late || !is_ours || this.#deps.isStopping()) this.#stop();
    while (this.#maySendMore()) this.#send(this.#backlog.shift());
    if (turn.outcomes.length > 0) this.#run("write", () => this.#write());
    if (turn.phase === "sending" && this.#wantsMore()) this.#run("load", () => this.#load());
    if (this.#at_work.requests > 0 || this.#at_work.write || this.#at_work.load) return;
    if (turn.phase === "sending" && this.#backlog.size > 0) return;
    turn.phase = turn.phase === "sending" ? "drained" : "stopped";
    this.#backlog.clear();
    const { resolve, reject } = this.#settle;
    this.#settle = null;
    if (this.#error) reject(this.#error.error);
    else resolve();
  }

  #maySendMore(): boolean {
    return (
      this.#turn.phase === "sending" &&
      this.#backlog.size > 0 &&
      this.#at_work.requests < this.#at_work.requests_max &&
      this.#turn.outcomes.length < UNWRITTEN_MAX &&
      performance.now() - this.#seen_ms <= SEEN_MAX_MS &&
      this.#deps.sender.hasCapacity(this.key.account_id)
    );
  }

  /** Does not load ahead for a failing endpoint: its deliveries may wait for long. */
  #wantsMore(): boolean {
    if (this.#backlog.isAllLoaded) return false;
    if (this.#backlog.hasAdvanced) return true;
    const { health, endpoint } = this.#turn;
    const failures = (health ?? endpoint)?.failures_in_a_row ?? 0;
    return this.#backlog.size < (failures > 0 ? 1 : READY_MIN);
  }

  /** Each kind of work runs once at a time. */
  #run(kind: "load" | "write", work: () => Promise<void>): void {
    if (this.#at_work[kind]) return;
    this.#at_work[kind] = true;
    work()
      .catch((error) => this.#stop({ error }))
      .then(() => {
        this.#at_work[kind] = false;
        this.#proceed();
      });
  }

  /** The next events of records whose last one arrived, or the next page. */
  async #load(): Promise<void> {
    const record_ids = this.#backlog.takeAdvanced();
    const asked_ms = performance.now();
    const page = await this.#parts.loadDue({ ...this.#backlog.nextPage(), record_ids });
    this.#takeEndpoint(page.endpoint);
    this.#seen_ms = Math.max(this.#seen_ms, asked_ms);
    if (!page.endpoint || !maySend(page.endpoint)) this.#backlog.close(record_ids);
    else if (this.#turn.phase === "sending") this.#backlog.add(page, record_ids);
    else this.#backlog.leave(record_ids);
  }

  #takeEndpoint(loaded: OpenEndpoint | undefined): void {
    const known = this.#turn.endpoint;
    if (!loaded || !known || this.#backlog.isAtStart) {
      this.#turn.endpoint = loaded;
      // After an open circuit, one request is tried first.
      if (loaded && loaded.circuit_failures > 0) this.#at_work.requests_max = 1;
      const until = loaded?.circuit_until;
      if (until && until > this.#deps.clock.now()) this.#stop();
    } else if (loaded.webhook_version !== known.webhook_version) {
      // Otherwise the first version is kept: its health is tracked here during the turn.
      this.#stop();
    }
  }

  #send({ delivery, open }: Sendable): void {
    const { clock, sender } = this.#deps;
    // The turn's endpoint may be another version, or absent, when the response arrives.
    const endpoint = this.#turn.endpoint!;
    try {
      const { body, missing } = open(delivery);
      if (body === null) {
        this.#turn.outcomes.push(outcomeUnsent(delivery, missing, clock.now()));
        return;
      }
      const begun_ms = performance.now();
      const answered = sender.send(requestOf(clock, endpoint, delivery, body));
      this.#at_work.requests += 1;
      answered.then(
        (answer) => this.#end(() => this.#judge(endpoint, delivery, answer, begun_ms)),
        (error) => this.#end(() => this.#stop({ error })),
      );
    } catch (error) {
      this.#stop({ error });
    }
  }

  #end(take: () => void): void {
    try {
      take();
    } catch (error) {
      this.#stop({ error });
    }
    this.#at_work.requests -= 1;
    this.#proceed();
  }

  #judge(
    { account_key }: OpenEndpoint,
    delivery: DueDelivery,
    answer: OutboundResult,
    begun_ms: number,
  ): void {
    const { clock, random } = this.#deps;
    const latency_ms = Math.round(performance.now() - begun_ms);
    const result = readResult(clock, answer);
    const at = clock.now();
    this.#note(result, at);
    this.#turn.outcomes.push(outcomeOf(delivery, result, { at, latency_ms, account_key, random }));
  }

  #note(result: SendResult, now: Date): void {
    const turn = this.#turn;
    if (!turn.endpoint) return;
    const { requests_max } = this.#at_work;
    if (result.is_success) this.#at_work.requests_max = Math.min(requests_max + 1, UNDER_WAY_MAX);
    const before = turn.health ?? turn.endpoint;
    const after = healthAfter(before, result, turn.phase !== "sending", now);
    const { account_id, id, webhook_version } = before;
    if (after.health) turn.health = { ...after.health, account_id, id, webhook_version };
    turn.disable_reason ??= after.disable_reason;
    if (after.is_opened || turn.disable_reason !== null) this.#stop();
  }

  async #write(): Promise<void> {
    const is_ordered = this.#turn.endpoint?.is_ordered ?? false;
    this.#backlog.written(await this.#parts.recorder.write(this.#turn), is_ordered);
  }
}

function maySend(endpoint: OpenEndpoint): boolean {
  return missingSetup(endpoint) === null && endpoint.webhook_state === "active";
}
