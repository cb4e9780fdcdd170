import type { EndpointHealth } from "../../apps/store.ts";
import type { GuardedSender } from "../../partners/outbound-http/guarded-sender.ts";
import type { ModuleCore } from "../../platform/module.ts";
import type { Task } from "../../platform/tasks/tasks.ts";
import type { AttemptResult } from "../attempt-counter.ts";
import type { OpenEndpoint } from "./due-pages.ts";
import type { DeliveryOutcome } from "./outcome-store.ts";

export type DeliverDeps = Pick<ModuleCore, "database" | "clock" | "keyring" | "log"> & {
  sender: Pick<GuardedSender, "send" | "hasCapacity">;
  /** Called once for each recorded attempt. */
  countAttempt?: (result: AttemptResult) => void;
  /** From 0 to 1, for the jitter of retries. */
  random: () => number;
  /** The process is shutting down: nothing new is sent. */
  isStopping: () => boolean;
};

/** As the table at the head of `EndpointSender` describes them. */
type Phase = "sending" | "stopping" | "drained" | "stopped";

/** The state of an endpoint's turn. */
export type Turn = {
  task: Task;
  phase: Phase;
  /** Outcomes of its deliveries that are not being written yet. */
  outcomes: DeliveryOutcome[];
  /** Undefined until loaded, and when the application was deleted. */
  endpoint: OpenEndpoint | undefined;
  /** Set while it differs from what is stored. */
  health: EndpointHealth | null;
  disable_reason: string | null;
  /** Of the first deliveries of its queue: whether all wait for others; null if not known. */
  all_wait: boolean | null;
};

export type Written = {
  outcomes: readonly DeliveryOutcome[];
  /** The outcomes after which the next event of their record may be sent. */
  followed: ReadonlySet<DeliveryOutcome>;
};

/** Writes the outcomes of attempts, for all endpoints of a set of tasks together. */
export type Recorder = {
  /** Takes the outcomes from the turn when writing starts, and returns them once written. */
  write(turn: Turn): Promise<Written>;
  /** True when the task was returned; false when there is more to send now. */
  end(turn: Turn): Promise<boolean>;
  /** Another worker has the endpoint now: our data about it is no longer valid. */
  isLost(task: Task): boolean;
};
