import type { End } from "../../approvals/tasks.ts";
import type { Answer } from "../../platform/commands/executor.ts";
import {
  type Accepted,
  type Command,
  SET_ROWS_MAX,
  type UseCase,
} from "../../platform/commands/use-case.ts";
import type { Database, Session, Transaction } from "../../platform/db/database.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import { type Problem, Refusal } from "../../platform/errors.ts";
import { oneByOne } from "../../platform/tasks/one-by-one.ts";
import type { TaskHandler } from "../../platform/tasks/run-set.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { RESOLVE_EXCEPTION_TASK } from "../task-kinds.ts";
import {
  type DecisionRow,
  deleteDecision,
  findDecision,
  findOutcome,
  insertDecision,
  insertOutcome,
} from "./decision-store.ts";
import {
  type LoadedExceptions,
  type ResolveDeps,
  type ResolveRequest,
  recordDecided,
  recordEffects,
  resolveExceptions,
  type Settled,
} from "./resolve-exceptions.ts";

/*
 * The operator's decision on a bank exception where a transaction is of one account
 * (SLIPROAD_BATCH_BY=account). Each step is a transaction of one account, and may be repeated.
 *
 * | Step  | Account     | Writes                                   | Done by              |
 * |-------|-------------|------------------------------------------|----------------------|
 * | ask   | operator's  | the command, the decision and its task   | the request          |
 * | apply | exception's | what it does, and the outcome, once      | the request, or task |
 * | close | operator's  | the audit entry; deletes the decision    | the task             |
 *
 * What two members have approved is applied and closed by the task of the proposal. The answer to
 * a request is the outcome; the answer that is stored with the command names it.
 */

export type StepDeps = ResolveDeps & { database: Database };
type Refused = { code: Refusal["code"]; message: string; problems: readonly Problem[] };
type Result = { answer: string; offramp_id: string | null } | { refused: Refused } | { ended: End };

/** A decision, in the account of its exception. */
type Asked = { operator_id: string; account_id: string; id: string };

/** Decides in a transaction of the exception's account, which writes nothing. */
export function askToResolve(deps: StepDeps): UseCase<ResolveRequest, LoadedExceptions, Settled> {
  const inner = resolveExceptions(deps);
  return {
    ...inner,
    // Alone in its set: the exceptions of a set may be of several accounts.
    rows: () => SET_ROWS_MAX,
    weigh: (_tx, commands) => oneAtATime(commands),
    load: (_tx, commands) => deps.database.transaction((own) => inner.load(own, commands)),
    record: (tx, _loaded, accepted, now) => {
      for (const one of accepted) recordAsked(tx, one, now);
    },
    decide: (loaded, command, now) => {
      const verdict = inner.decide(loaded, command, now);
      if ("refusal" in verdict) return verdict;
      const asked = { operator_id: command.account_id, id: command.id };
      return { ...verdict, output: { ...verdict.output, asked } };
    },
    render: ({ exception, asked }) =>
      JSON.stringify({ asked: { ...asked, account_id: exception.account_id } }),
  };
}

function oneAtATime(commands: readonly Command<unknown>[]) {
  if (commands.length > 1) throw new Error("a decision on a bank exception shares a set");
  return null;
}

function recordAsked(
  tx: Transaction,
  { command, output }: Accepted<ResolveRequest, Settled>,
  now: Date,
): void {
  const decision = {
    ...{ account_id: command.account_id, id: command.id },
    exception_account_id: output.exception.account_id,
    command: JSON.stringify(toStored(command)),
    created_at: now,
  };
  insertDecision(tx, decision);
  enqueueTasks(tx, RESOLVE_EXCEPTION_TASK, [decision], now);
}

function toStored({ trace_id, idempotency: _, ...command }: Command<ResolveRequest>) {
  return { ...command, idempotency: null, ...(trace_id ? { trace_id } : {}) };
}

/** The answer to a request whose decision may have to be applied first. */
export async function answerResolved(deps: StepDeps, answer: Answer): Promise<Answer> {
  const { asked } = JSON.parse(answer.body) as { asked?: Asked };
  if (!asked) return answer;
  const result = await findOrApply(deps, asked);
  if ("refused" in result) throw toRefusal(result.refused);
  if ("ended" in result) throw new Error("a request is no proposal");
  return { ...answer, body: result.answer };
}

async function findOrApply(deps: StepDeps, asked: Asked): Promise<Result> {
  const known = await findResult(deps.database, asked);
  if (known) return known;
  const { operator_id: account_id, id } = asked;
  const decision = await findDecision(deps.database, { account_id, id });
  // The task may have closed it meanwhile.
  const result = decision ? await applyDecision(deps, decision) : null;
  const ended = result ?? (await findResult(deps.database, asked));
  if (!ended) throw new Error(`decision ${id} of ${account_id} and its outcome are gone`);
  return ended;
}

/** The second step of a stored decision. */
export function applyDecision(deps: StepDeps, decision: DecisionRow): Promise<Result> {
  const command = JSON.parse(decision.command) as Command<ResolveRequest>;
  return applyOnce(deps, decision.exception_account_id, command, async () => null);
}

/** Applies a command in the exception's account, under its id only once; a refusal is final too. */
export function applyOnce(
  deps: StepDeps,
  account_id: string,
  command: Command<ResolveRequest>,
  findChange: (tx: Transaction, loaded: LoadedExceptions) => Promise<End | null>,
): Promise<Result> {
  const use_case = resolveExceptions(deps);
  const now = deps.clock.now();
  return deps.database.transaction(async (tx): Promise<Result> => {
    // Whoever else applies it waits here for the lock of the exception.
    const loaded = await use_case.load(tx, [command]);
    const known = await findResult(tx, { account_id, id: command.id });
    if (known) return known;
    const end = (result: Result) => {
      const outcome = { account_id, id: command.id, created_at: now };
      insertOutcome(tx, { ...outcome, result: JSON.stringify(result) });
      return result;
    };
    const ended = await findChange(tx, loaded);
    if (ended) return end({ ended });
    const verdict = use_case.decide(loaded, command, now);
    if ("refusal" in verdict) return end({ refused: toRefused(verdict.refusal) });
    recordEffects(tx, deps, [{ command, ...verdict }], now);
    const { assigned_offramp_id: offramp_id } = verdict.output.exception;
    return end({ answer: use_case.render(verdict.output), offramp_id });
  });
}

/** What became of a decision; undefined while it is not applied. */
export async function findResult(session: Session, key: RecordKey): Promise<Result | undefined> {
  const outcome = await findOutcome(session, key);
  return outcome && (JSON.parse(outcome.result) as Result);
}

/** How a proposal ends whose decision was applied. */
export function endOf(result: Result): End {
  if ("ended" in result) return result.ended;
  if ("answer" in result) return { status: "done", outcome: null };
  return { status: "failed", outcome: toRefusal(result.refused).sentence };
}

function toRefused({ code, message, problems }: Refusal): Refused {
  return { code, message, problems };
}

function toRefusal({ code, message, problems }: Refused): Refusal {
  return problems.length > 0 ? Refusal.of(problems) : new Refusal(code, message);
}

/** Applies what a request did not, and closes it. */
export function resolveExceptionTask(deps: StepDeps): TaskHandler {
  const { database } = deps;
  return {
    kind: RESOLVE_EXCEPTION_TASK,
    set_max: 20,
    handle: (set) =>
      oneByOne(database, set, async (task) => {
        const key = { account_id: task.account_id, id: task.record_id };
        const decision = await findDecision(database, key);
        const result = decision && (await applyDecision(deps, decision));
        await database.transaction(async (tx) => {
          const tasks = await set.lock(tx, [task]);
          if (tasks.length === 0) return;
          if (decision && result && "answer" in result) {
            recordDecided(tx, JSON.parse(decision.command), result.offramp_id, set.now);
          }
          deleteDecision(tx, key);
          set.finish(tx, tasks);
        });
      }),
  };
}
