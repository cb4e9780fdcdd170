import type { Transaction } from "../db/database.ts";
import { Refusal } from "../errors.ts";
import { letOthersRun } from "../let-others-run.ts";
import { realTime } from "../tasks/real-time.ts";
import { PUT_OFF } from "./batcher.ts";
import { ByteBudget } from "./byte-budget.ts";
import type { ExecutorDeps, Try } from "./model.ts";
import { noteOrigins } from "./origins.ts";
import { replayAnswers, sealAnswer } from "./replay.ts";
import { findStoredAnswers, insertCommands } from "./store.ts";
import { type Accepted, type AnyUseCase, type Command, LOADED_BYTES_MAX } from "./use-case.ts";

/** Reads the set in one flush, decides, and queues the writes to be sent with the commit. */
export async function runInTransaction(
  deps: ExecutorDeps,
  use_case: AnyUseCase,
  tx: Transaction,
  attempt: Try,
  now: Date,
): Promise<void> {
  const { outcomes, written } = attempt;
  const commands = [...attempt.commands.values()];
  const actor_ids = [...new Set(commands.map((one) => one.actor_account_id ?? one.account_id))];
  const tenant_id = tx.by_account ? commands[0]!.account_id : undefined;
  const credential_ids = [...new Set(commands.map((command) => command.credential_id))];
  const weighing = use_case.weigh?.(tx, commands) ?? null;
  const [active, stored, account_keys, weights, loaded_at_once] = await Promise.all([
    deps.findActiveCredentials(tx, credential_ids, actor_ids, realTime(deps.clock), tenant_id),
    findStoredAnswers(tx, commands),
    deps.keyring.openAccounts(tx, commands),
    weighing,
    weighing ? null : use_case.load(tx, commands),
  ]);
  const unanswered = () => commands.filter((command) => !outcomes.has(command.id));

  for (const { id, credential_id } of commands) {
    if (!active.has(credential_id)) outcomes.set(id, { refusal: new Refusal("unauthorized") });
  }
  // Apart from each other: replays come first, and one after the other would put off new work of
  // other accounts again and again.
  const [of_replays, of_fresh] = [new ByteBudget(), new ByteBudget()];
  const replayed = await replayAnswers(deps.keyring, tx, unanswered(), stored, of_replays);
  for (const [id, outcome] of replayed) outcomes.set(id, outcome);

  if (weights) putOffHeavy(unanswered(), weights, outcomes);
  const fresh = unanswered();
  if (fresh.length === 0) return;
  const loaded = weights ? await use_case.load(tx, fresh) : loaded_at_once;
  const bytes = [...attempt.commands.keys()].reduce((sum, queued) => sum + queued.bytes, 0);
  await letOthersRun(bytes);
  const accepted = await decide(use_case, loaded, fresh, { outcomes, budget: of_fresh }, now);
  // The same request may have been committed by another process between our statements: then it was
  // refused because of its own effect, and its answer is stored by now.
  const refused = fresh.filter(({ id }) => outcomes.has(id) && outcomes.get(id) !== PUT_OFF);
  const late = await findStoredAnswers(tx, refused);
  const replayed_late = await replayAnswers(deps.keyring, tx, refused, late, of_replays);
  for (const [id, outcome] of replayed_late) outcomes.set(id, outcome);
  if (accepted.length === 0) return;
  const rows = accepted.map(({ command, body, subject }) => {
    outcomes.set(command.id, { answer: { body, replayed: false } });
    written.push(command);
    const key = subject?.key ?? account_keys.get(command.account_id)!;
    return {
      command,
      subject_id: subject?.subject_id ?? null,
      answer: command.idempotency ? sealAnswer(key, command, body) : null,
    };
  });
  insertCommands(tx, rows, realTime(deps.clock));
  noteOrigins(tx, written);
  await letOthersRun(bytes);
  await use_case.record(tx, loaded, accepted, now);
}

/** What would be too much to load at once; the first is always loaded. */
function putOffHeavy(
  commands: readonly Command<unknown>[],
  weights: ReadonlyMap<string, number>,
  outcomes: Try["outcomes"],
): void {
  const budget = new ByteBudget(LOADED_BYTES_MAX);
  for (const { id } of commands) {
    if (budget.is_spent) outcomes.set(id, PUT_OFF);
    else budget.spend(weights.get(id) ?? 0);
  }
}

type Answered = Accepted<unknown, unknown> & { body: string };

/** Records the refusals and returns the accepted commands with the bodies of their answers. */
async function decide(
  use_case: AnyUseCase,
  loaded: unknown,
  commands: readonly Command<unknown>[],
  { outcomes, budget }: Pick<Try, "outcomes"> & { budget: ByteBudget },
  now: Date,
): Promise<Answered[]> {
  const accepted: Answered[] = [];
  for (const command of commands) {
    if (budget.is_spent) {
      outcomes.set(command.id, PUT_OFF);
      continue;
    }
    const verdict = use_case.decide(loaded, command, now);
    if ("refusal" in verdict) {
      outcomes.set(command.id, verdict);
      continue;
    }
    const body = use_case.render(verdict.output);
    budget.spend(body.length);
    accepted.push({ command, ...verdict, body });
    await letOthersRun(body.length);
  }
  return accepted;
}
