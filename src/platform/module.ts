import type { FastifyInstance } from "fastify";
import type { Counter } from "prom-client";
import type { Clock } from "./clock.ts";
import type { Executor } from "./commands/executor.ts";
import type { Config, Mode } from "./config/config.ts";
import type { Database, Session } from "./db/database.ts";
import type { Keyring } from "./encryption/keyring.ts";
import type { AddRoute } from "./http/route.ts";
import type { MetricSource } from "./metrics/model.ts";
import type { TaskHandler } from "./tasks/run-set.ts";
import type { TaskLog } from "./tasks/task-log.ts";

/** What every module receives. Anything else it needs is a named parameter. */
export type ModuleCore = {
  config: Config;
  mode: Mode;
  database: Database;
  clock: Clock;
  keyring: Keyring;
  index_key: Buffer;
  /** The account of the installation's operator. */
  operator_id: string;
  executor: Executor;
  /** Wakes the workers of this process for work that is due now. */
  wake: () => void;
  /** Known once the server listens. */
  public_url: () => string;
  log: TaskLog;
};

export type Readiness = (
  session: Session,
  time: { now: Date; real_now: Date },
) => Promise<readonly string[]>;

/** What a module adds to the service. Earlier modules do not depend on it. */
export type Module = {
  /** The API's routes; `server` is for those that accept files or need a separate scope. */
  routes?: (addRoute: AddRoute, server: FastifyInstance) => void;
  /** Pages for people. */
  pages?: (server: FastifyInstance) => void;
  tasks?: readonly TaskHandler[];
  /** The task kinds that repeat for the lifetime of the installation. */
  recurring?: readonly string[];
  metrics?: readonly MetricSource[];
  /** A sentence for each reason why the service is not ready. */
  readiness?: Readiness;
  /** A sentence for each thing that an operator should know although the service is ready. */
  notices?: Readiness;
  /** Counters in this process. */
  counters?: readonly Counter[];
  /** Ends waits that requests may be blocked on. */
  close?: () => Promise<void>;
};
