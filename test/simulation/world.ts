import { realTime } from "../../src/platform/tasks/real-time.ts";
import { listDueKinds } from "../../src/platform/tasks/store.ts";
import { takeFiles, WINDOW_MS } from "./file-bank.ts";
import type { Account, Installation } from "./installation.ts";
import type { Model } from "./model.ts";
import type { Answer, Process, Request } from "./process.ts";
import type { Random } from "./random.ts";

/** Something that must never happen did. */
export class Fault extends Error {
  readonly check: string;

  constructor(check: string, message: string) {
    super(`${check}: ${message}`);
    this.check = check;
  }
}

/** Recurring work that is about other things; it runs when the clock leaps. */
const HOUSEKEEPING =
  /^(trim|sweep|delete|sum|refresh|check-exposure|rescreen|index|flag|read-identity)/;
const TRIES_MAX = 40;
const ROUNDS_MAX = 80;
const LEASE_MS = 31_000;
/** Recurring work of banks begins again after a second. */
const READ_MS = 1_500;
const RETRY_MS = [2_000, 5_000, 9_000];

export type World = Installation & {
  model: Model;
  random: Random;
  /** A request whose answer is awaited, however often a process ends meanwhile. */
  command(
    account: Account,
    method: Request["method"],
    path: string,
    body?: unknown,
  ): Promise<Answer>;
  /** The same request on both processes at once. */
  twice(account: Account, path: string, body: unknown): Promise<Answer>;
  read(account: Account, path: string): Promise<Answer["body"]>;
  /** Does a little of what is due: some sets of tasks. */
  work(process: Process, random: Random, sets_max: number): Promise<void>;
  /** Does everything that is due, without trouble. */
  finish(with_housekeeping?: boolean): Promise<void>;
};

export function openWorld(
  installation: Installation,
  model: Model,
  random: Random,
  name: string,
): World {
  const { processes, clock, trouble, cores } = installation;
  const { database } = cores[0]!;
  const pickProcess = () => processes[random.below(processes.length)]!;
  let keys = 0;

  const send = async (process: () => Process, request: Request): Promise<Answer> => {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const answer = await process().call(request);
      // 503: nothing happened, try again.
      if (answer === null || answer.status === 503) continue;
      if (answer.status < 500) return answer;
      const { method, path } = request;
      throw new Fault("answer", `${method} ${path} got ${answer.status}: ${answer.text}`);
    }
    throw new Fault("answer", `${request.path} was never answered`);
  };
  const newKey = () => {
    keys += 1;
    return `${name}-${keys}`;
  };
  const asSame = (path: string, first: Answer, again: Answer) => {
    if (first.status !== 200 || first.text === again.text) return;
    throw new Fault("idempotency", `${path} got ${first.text}, then ${again.text}`);
  };
  const command: World["command"] = async (account, method, path, body) => {
    const request = { method, path, body, key: account.key, idempotency_key: newKey() };
    const answer = await send(pickProcess, request);
    if (random.chance(0.2)) asSame(path, answer, await send(pickProcess, request));
    return answer;
  };
  const twice: World["twice"] = async (account, path, body) => {
    const request: Request = {
      ...{ method: "POST", path, body, key: account.key, idempotency_key: newKey() },
    };
    const answers = await Promise.all(processes.map((one) => send(() => one, request)));
    asSame(path, answers[0]!, answers[1]!);
    return answers[0]!;
  };
  const listDue = async (process: Process, everything: boolean): Promise<string[]> => {
    const kinds = process.kinds.filter((kind) => everything || !HOUSEKEEPING.test(kind));
    const time = { now: clock.now(), real_now: realTime(clock) };
    const due = await listDueKinds(database, { kinds, ...time });
    return due.filter(({ fresh, failed }) => fresh || failed).map(({ kind }) => kind);
  };
  const work: World["work"] = async (process, chosen, sets_max) => {
    for (let sets = 1 + chosen.below(sets_max); sets > 0; sets -= 1) {
      const due = await listDue(process, false);
      if (due.length > 0) await process.work(chosen.pick(due));
    }
  };
  const runDue = async (everything: boolean) => {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const due = await listDue(processes[0]!, everything);
      if (due.length === 0) return;
      for (const kind of due) await processes[round % processes.length]!.work(kind);
    }
    throw new Fault("progress", "there is always something due");
  };
  const hasFailed = async () => {
    const [row] = await database.query<{ kind: string; last_error: string; attempts: number }>(
      `select kind, last_error, attempts from tasks
       where attempts > 0 or leased_until is not null order by attempts desc limit 1`,
    );
    return row;
  };
  /** A window closes, its file is written, and what the bank says is read and then answered. */
  const passFiles = async (everything: boolean) => {
    if (!installation.files) return;
    for (const ms of [WINDOW_MS, READ_MS, READ_MS]) {
      clock.pass(ms);
      await runDue(everything);
      await takeFiles(installation);
    }
  };
  const finish: World["finish"] = async (everything = false) => {
    const { probability } = trouble;
    trouble.probability = 0;
    for (const { life } of processes) life.steps_left = Number.POSITIVE_INFINITY;
    clock.pass(LEASE_MS);
    await runDue(everything);
    await passFiles(everything);
    let failed = await hasFailed();
    for (const ms of RETRY_MS) {
      if (!failed) break;
      clock.pass(ms);
      await runDue(everything);
      failed = await hasFailed();
    }
    if (failed && failed.attempts > 4) throw new Fault("progress", JSON.stringify(failed));
    trouble.probability = probability;
    model.settle(clock.now().getTime());
  };
  return {
    ...installation,
    ...{ model, random, command, twice, work, finish },
    read: async (account, path) =>
      (await send(pickProcess, { method: "GET", path, key: account.key })).body,
  };
}
