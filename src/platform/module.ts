import type { FastifyInstance } from "fastify";
import type { Counter } from "prom-client";
import type { Clock, SandboxClock } from "./clock.ts";
import type { Executor } from "./commands/executor.ts";
import type { Config, Mode } from "./config/config.ts";
import type { Database } from "./db/database.ts";
import type { Keyring } from "./encryption/keyring.ts";
import type { AddRoute } from "./http/route.ts";
import type { MetricSource } from "./metrics/model.ts";
import type { TaskHandler } from "./tasks/run-set.ts";
import type { TaskLog } from "./tasks/task-log.ts";

/** What every module is opened with. Whatever else it needs is a named parameter of its own. */
export type ModuleCore = {
  config: Config;
  mode: Mode;
  database: Database;
  clock: Clock & SandboxClock;
  keyring: Keyring;
  index_key: Buffer;
  /** The account of whoever runs the installation. */
  operator_id: string;
  executor: Executor;
  /** Wakes the workers of this process, for work that is due now. */
  wake: () => void;
  /** Known once the server listens. */
  public_url: () => string;
  log: TaskLog;
};

/** What a module adds to the service. Earlier modules know nothing of it. */
export type Module = {
  /** The API's routes; `server` is for those that take files or need a scope of their own. */
  routes?: (addRoute: AddRoute, server: FastifyInstance) => void;
  /** Pages for people. */
  pages?: (server: FastifyInstance) => void;
  tasks?: readonly TaskHandler[];
  /** The kinds among its tasks that repeat for as long as the installation lives. */
  recurring?: readonly string[];
  metrics?: readonly MetricSource[];
  /** What it counts in this process. */
  counters?: readonly Counter[];
  /** Ends what requests may be waiting for. */
  close?: () => Promise<void>;
};
