import type { OutboundResult } from "../../partners/outbound-http/outbound-request.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import { missingSetup } from "../audience.ts";
import type { DuePage, LoadDue, OpenEndpoint, Sendable } from "./due-pages.ts";
import { healthAfter } from "./endpoint-health.ts";
import type { EndpointPoll, Polled, Seen } from "./endpoint-poll.ts";
import { outcomeOf, outcomeUnsent } from "./outcome.ts";
import { readResult, requestOf, type SendResult } from "./request.ts";
import type { DeliverDeps, Phase, Recorder, Turn } from "./sender-model.ts";
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

/**
 * Sends what is due to one endpoint, with a bounded number of open requests. Its phases are in
 * `sender-model.ts`; every event ends in `#proceed`, which does what is possible next.
 */
export class EndpointSender implements Polled {
  readonly key: { account_id: string; id: string };
  readonly #deps: DeliverDeps;
  readonly #loadDue: LoadDue;
  readonly #recorder: Recorder;
  readonly #poll: EndpointPoll;
  readonly #isHeld: () => boolean;
  readonly #turn: Turn;
  readonly #turn_ends_ms = performance.now() + TURN_MAX_MS;
  #settle: { resolve: () => void; reject: (error: unknown) => void } | null = null;
  #error: { error: unknown } | null = null;
  /** Loaded and not yet sent. */
  #ready: Sendable[] = [];
  /** Deliveries from loading until their outcome is written. */
  readonly #taken = new Set<string>();
  /** With ordered delivery: the records whose next event may be sent now. */
  #advanced: string[] = [];
  #under_way = 0;
  #under_way_max = UNDER_WAY_FIRST;
  readonly #at_work = { load: false, write: false };
  #after: DueQuery["after"] = null;
  #is_all_loaded = false;
  #seen_ms = 0;
  #erasures = 0n;

  constructor(
    deps: DeliverDeps,
    task: Task,
    parts: { loadDue: LoadDue; recorder: Recorder; poll: EndpointPoll; isHeld: () => boolean },
  ) {
    this.key = { account_id: task.account_id, id: task.record_id };
    this.#deps = deps;
    this.#loadDue = parts.loadDue;
    this.#recorder = parts.recorder;
    this.#poll = parts.poll;
    this.#isHeld = parts.isHeld;
    const phase: Phase = "drained";
    const unknown = { outcomes: [], endpoint: undefined, health: null, disable_reason: null };
    this.#turn = { task, phase, ...unknown };
  }

  /** Sends until everything due is sent and written, or until it is stopped. */
  sendDue(): Promise<void> {
    this.#turn.phase = "sending";
    this.#advanced = [];
    this.#after = null;
    this.#is_all_loaded = false;
    this.#poll.add(this);
    return new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#proceed();
    }).finally(() => this.#poll.delete(this));
  }

  /** Returns the task, for later or as done; false when there is more to send now. */
  end(): Promise<boolean> {
    return this.#recorder.end(this.#turn);
  }

  // Called by the poll.

  seenMs(): number | null {
    return this.#ready.length > 0 ? this.#seen_ms : null;
  }

  accountIds(): string[] {
    const consented = this.#ready.filter(({ delivery }) => delivery.consent === "held");
    return [...new Set(consented.map(({ delivery }) => delivery.event_account_id))];
  }

  /** What was loaded for an endpoint that changed is left to the next turn. */
  look(seen: Seen | null, asked_ms: number): void {
    const known = this.#turn.endpoint?.webhook_version;
    if (seen !== null && known !== undefined) {
      this.#learnErasures(seen.erasures);
      if (seen.version === known) this.#seen_ms = Math.max(this.#seen_ms, asked_ms);
      else this.#stop();
    }
    this.#proceed();
  }

  /** While requests are open, slots may be free and more may have become due. */
  idleAfter(): DueQuery | null {
    const is_idle = this.#is_all_loaded && this.#ready.length === 0 && this.#under_way > 0;
    const may_send = this.#turn.phase === "sending" && this.#under_way < this.#under_way_max;
    return is_idle && may_send ? this.#query() : null;
  }

  wake(): void {
    // The turn may have ended during the query: another worker may have the endpoint by now.
    if (this.#turn.phase !== "sending") return;
    this.#is_all_loaded = false;
    this.#proceed();
  }

  #query(): DueQuery {
    return { account_id: this.key.account_id, app_id: this.key.id, after: this.#after };
  }

  #stop(error?: { error: unknown }): void {
    this.#error ??= error ?? null;
    if (this.#turn.phase === "sending") this.#turn.phase = "stopping";
  }

  #proceed(): void {
    const turn = this.#turn;
    if (!this.#settle) return;
    const is_late = performance.now() > this.#turn_ends_ms;
    const is_ours = this.#isHeld() && !this.#recorder.isLost(turn.task);
    if (is_late || !is_ours || this.#deps.isStopping()) this.#stop();
    while (this.#maySendMore()) this.#send(this.#ready.shift()!);
    if (turn.outcomes.length > 0) this.#run("write", () => this.#write());
    if (turn.phase === "sending" && this.#wantsMore()) this.#run("load", () => this.#load());
    if (this.#under_way > 0 || this.#at_work.write || this.#at_work.load) return;
    if (turn.phase === "sending" && this.#ready.length > 0) return;
    turn.phase = turn.phase === "sending" ? "drained" : "stopped";
    this.#ready = [];
    this.#taken.clear();
    const { resolve, reject } = this.#settle;
    this.#settle = null;
    if (this.#error) reject(this.#error.error);
    else resolve();
  }

  #maySendMore(): boolean {
    return (
      this.#turn.phase === "sending" &&
      this.#ready.length > 0 &&
      this.#under_way < this.#under_way_max &&
      this.#turn.outcomes.length < UNWRITTEN_MAX &&
      performance.now() - this.#seen_ms <= SEEN_MAX_MS &&
      this.#deps.sender.hasCapacity(this.key.account_id)
    );
  }

  /** Does not load ahead for a failing endpoint: its deliveries may wait for long. */
  #wantsMore(): boolean {
    if (this.#advanced.length > 0) return true;
    const { health, endpoint } = this.#turn;
    const failures = (health ?? endpoint)?.failures_in_a_row ?? 0;
    return !this.#is_all_loaded && this.#ready.length < (failures > 0 ? 1 : READY_MIN);
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
    const record_ids = this.#advanced;
    this.#advanced = [];
    const asked_ms = performance.now();
    const page = await this.#loadDue({ ...this.#query(), record_ids });
    this.#takeEndpoint(page.endpoint);
    this.#seen_ms = Math.max(this.#seen_ms, asked_ms);
    this.#learnErasures(page.erasures);
    const is_open = page.endpoint !== undefined && maySend(page.endpoint);
    if (is_open) this.#take(page);
    else this.#ready = [];
    if (record_ids.length > 0 && is_open) return;
    this.#is_all_loaded = page.is_last || !is_open;
    const last = page.deliveries.at(-1)?.delivery;
    if (last) this.#after = { due_at: last.due_at, id: last.id };
  }

  #takeEndpoint(loaded: OpenEndpoint | undefined): void {
    const known = this.#turn.endpoint;
    if (!loaded || !known || this.#after === null) {
      this.#turn.endpoint = loaded;
      // After an open circuit, one request is tried first.
      if (loaded && loaded.circuit_failures > 0) this.#under_way_max = 1;
      const until = loaded?.circuit_until;
      if (until && until > this.#deps.clock.now()) this.#stop();
    } else if (loaded.webhook_version !== known.webhook_version) {
      // Otherwise the first version is kept: its health is tracked here during the turn.
      this.#stop();
    }
  }

  /**
   * Skips deliveries requested again while they are being sent: they are loaded again afterwards.
   */
  #take({ deliveries, erasures }: DuePage): void {
    const is_outdated = erasures < this.#erasures;
    for (const sendable of deliveries) {
      const { id, subject_id } = sendable.delivery;
      if (this.#taken.has(id) || (is_outdated && subject_id !== null)) continue;
      this.#taken.add(id);
      this.#ready.push(sendable);
    }
  }

  /** Drops bodies with personal data decrypted before an erasure: they are loaded again. */
  #learnErasures(erasures: bigint): void {
    if (erasures <= this.#erasures) return;
    this.#erasures = erasures;
    const [kept, outdated] = [[], []] as [Sendable[], Sendable[]];
    for (const one of this.#ready) (one.delivery.subject_id === null ? kept : outdated).push(one);
    for (const { delivery } of outdated) this.#taken.delete(delivery.id);
    this.#ready = kept;
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
      this.#under_way += 1;
      answered
        .then((answer) => this.#judge(endpoint, delivery, answer, begun_ms))
        .catch((error) => this.#stop({ error }))
        .then(() => {
          this.#under_way -= 1;
          this.#proceed();
        });
    } catch (error) {
      this.#stop({ error });
    }
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
    if (result.is_success && this.#under_way_max < UNDER_WAY_MAX) this.#under_way_max += 1;
    const before = turn.health ?? turn.endpoint;
    const after = healthAfter(before, result, turn.phase !== "sending", now);
    const { account_id, id, webhook_version } = before;
    if (after.health) turn.health = { ...after.health, account_id, id, webhook_version };
    turn.disable_reason ??= after.disable_reason;
    if (after.is_opened || turn.disable_reason !== null) this.#stop();
  }

  async #write(): Promise<void> {
    const is_ordered = this.#turn.endpoint?.is_ordered ?? false;
    const { outcomes, followed } = await this.#recorder.write(this.#turn);
    for (const outcome of outcomes) {
      this.#taken.delete(outcome.delivery_id);
      if (is_ordered && followed.has(outcome)) this.#advanced.push(outcome.record_id);
    }
  }
}

function maySend(endpoint: OpenEndpoint): boolean {
  return missingSetup(endpoint) === null && endpoint.webhook_state === "active";
}
