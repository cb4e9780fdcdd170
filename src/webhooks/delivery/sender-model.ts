import type { EndpointHealth } from "../../apps/store.ts";
import type { GuardedSender } from "../../partners/outbound-http/guarded-sender.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import type { TaskLog } from "../../platform/tasks/task-log.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import type { AttemptResult } from "../attempt-counter.ts";
import type { OpenEndpoint } from "./due-pages.ts";
import type { DeliveryOutcome } from "./outcome-store.ts";

export type DeliverDeps = {
  database: Database;
  clock: Clock;
  keyring: Keyring;
  sender: Pick<GuardedSender, "send" | "hasCapacity">;
  log: TaskLog;
  /** Called once for each attempt that was recorded. */
  countAttempt?: (result: AttemptResult) => void;
  /** From 0 to 1, for the jitter of retries. */
  random: () => number;
  /** The process is about to end: nothing new is sent. */
  isStopping: () => boolean;
};

/**
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
export type Phase = "sending" | "stopping" | "drained" | "stopped";

/** What is known of an endpoint while it is sent to. */
export type Turn = {
  task: Task;
  phase: Phase;
  /** What came of its deliveries and is not being written yet. */
  outcomes: DeliveryOutcome[];
  /** Undefined until it is loaded, and when the application is gone. */
  endpoint: OpenEndpoint | undefined;
  /** Set while it differs from what is stored. */
  health: EndpointHealth | null;
  disable_reason: string | null;
};

export type Written = {
  outcomes: readonly DeliveryOutcome[];
  /** Those after which the next event of their record may be sent. */
  followed: ReadonlySet<DeliveryOutcome>;
};

/** Writes what came of attempts, for all endpoints of a set of tasks together. */
export type Recorder = {
  /** Takes the outcomes from the turn when they are written, and returns them afterwards. */
  write(turn: Turn): Promise<Written>;
  /** True when the task was given back; false when there is more to send now. */
  end(turn: Turn): Promise<boolean>;
  /** Another worker has the endpoint now: what we know of it no longer counts. */
  isLost(task: Task): boolean;
};
