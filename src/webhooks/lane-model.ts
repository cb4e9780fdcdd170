import type { EndpointHealth } from "../access/apps-store.ts";
import type { GuardedSender } from "../partners/outbound-http/guarded-sender.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import type { TaskLog } from "../platform/tasks/task-log.ts";
import type { Task } from "../platform/tasks/tasks.ts";
import type { OpenEndpoint } from "./due-pages.ts";
import type { Outcome } from "./outcome-store.ts";

export type DeliverDeps = {
  database: Database;
  clock: Clock;
  keyring: Keyring;
  sender: Pick<GuardedSender, "send">;
  log: TaskLog;
  /** From 0 to 1, for the jitter of retries. */
  random: () => number;
  /** The process is about to end: nothing new is sent. */
  isStopping: () => boolean;
};

/** What is known of an endpoint during its turn. */
export type LaneState = {
  task: Task;
  /** What came of its deliveries and is not being written yet. */
  outcomes: Outcome[];
  /** Undefined until it is loaded, and when the application is gone. */
  endpoint: OpenEndpoint | undefined;
  /** Set while it differs from what is stored. */
  health: EndpointHealth | null;
  disable_reason: string | null;
  /** The turn is over though more may be due. */
  is_over: boolean;
};

/** Writes what came of attempts, for all endpoints of a set of tasks together. */
export type Recorder = {
  /** Takes the outcomes from the state when their turn comes, and returns them once written. */
  write(state: LaneState): Promise<readonly Outcome[]>;
  /** True when the task was given back; false when there is more to send now. */
  end(state: LaneState): Promise<boolean>;
  /** Another worker has the endpoint now: what we know of it no longer counts. */
  isLost(task: Task): boolean;
};
