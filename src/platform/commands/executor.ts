import { Batcher } from "../batcher/batcher.ts";
import type { Clock } from "../clock.ts";
import {
  CommitUnknownError,
  type Database,
  isRetryable,
  type Transaction,
  violatedKey,
} from "../db/database.ts";
import { open, seal } from "../encryption/cipher.ts";
import type { AccountKeys, Keyring } from "../encryption/keyring.ts";
import { Refusal } from "../errors.ts";
import { newId } from "../ids.ts";
import { wasCommitted } from "./find-outcome.ts";
import { answerPlace, findStoredAnswers, insertCommands, type StoredAnswer } from "./store.ts";
import type { Accepted, Command, Idempotency, UseCase, Verdict } from "./use-case.ts";

export type Answer = { body: string; replayed: boolean };

export type Executor = {
  /** Registers a use case; the returned function submits one command to it. */
  register<Input, Loaded, Output>(
    use_case: UseCase<Input, Loaded, Output>,
  ): (request: CommandRequest<Input>) => Promise<Answer>;
};

export type CommandRequest<Input> = {
  account_id: string;
  api_key_id: string;
  input: Input;
  bytes: number;
  idempotency: Idempotency | null;
};

export type ExecutorDeps = {
  database: Database;
  clock: Clock;
  keyring: Keyring;
  across_accounts: boolean;
  /** Of these keys, which may still be used? Asked in the transaction itself. */
  findActiveKeys: (tx: Transaction, api_key_ids: string[], account_ids: string[]) => Promise<Set<string>>;
  /** Called after a commit, so that a worker of this process looks for tasks at once. */
  afterCommit: () => void;
};

type Outcome = { answer: Answer } | { refusal: Refusal };
type Queued<Input> = Command<Input> & { bytes: number; rows: number };

const CONFLICT_RETRIES_MAX = 5;

export function createExecutor(deps: ExecutorDeps): Executor {
  return {
    register: (use_case) => {
      const batcher = new Batcher<Queued<never>, Outcome>({
        run: (commands) => runToTheEnd(deps, use_case as never, commands),
        across_accounts: deps.across_accounts,
      });
      const running = new Map<string, Promise<unknown>>();
      return async (request) => {
        const command = {
          ...request,
          id: newId(deps.clock.now()),
          rows: use_case.rows(request.input),
        } as unknown as Queued<never>;
        const outcome = await oneAtATime(running, command, () => batcher.submit(command));
        if ("refusal" in outcome) throw outcome.refusal;
        return outcome.answer;
      };
    },
  };
}

/** Of requests with one idempotency key, the second waits for the first one's answer. */
async function oneAtATime<Result>(
  running: Map<string, Promise<unknown>>,
  command: Queued<never>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!command.idempotency) return work();
  const name = `${command.account_id} ${command.idempotency.index.toString("hex")}`;
  for (let first = running.get(name); first; first = running.get(name)) await first;
  const mine = work();
  const ended = mine.then(
    () => {},
    () => {},
  );
  running.set(name, ended);
  try {
    return await mine;
  } finally {
    running.delete(name);
  }
}

/**
 * Runs the set until its end is certain: again after a conflict with another process, and after a
 * lost COMMIT answer by asking the database what became of it.
 */
async function runToTheEnd<Input, Loaded, Output>(
  deps: ExecutorDeps,
  use_case: UseCase<Input, Loaded, Output>,
  commands: Queued<Input>[],
): Promise<Map<Queued<Input>, Outcome>> {
  for (let retries = 0; ; retries += 1) {
    const outcomes = new Map<Queued<Input>, Outcome>();
    const written: Queued<Input>[] = [];
    try {
      await deps.database.transaction((tx) => runOnce(deps, use_case, tx, commands, outcomes, written));
    } catch (error) {
      if (error instanceof CommitUnknownError) {
        const committed = await wasCommitted(deps.database, written[0], deps.clock.now());
        if (committed === "unknown") return refuseAll(commands, new Refusal("outcome_unknown"));
        if (committed === "no") continue;
      } else if (retries < CONFLICT_RETRIES_MAX && (violatedKey(error) || isRetryable(error))) {
        continue;
      } else throw error;
    }
    deps.afterCommit();
    return outcomes;
  }
}

async function runOnce<Input, Loaded, Output>(
  deps: ExecutorDeps,
  use_case: UseCase<Input, Loaded, Output>,
  tx: Transaction,
  commands: Queued<Input>[],
  outcomes: Map<Queued<Input>, Outcome>,
  written: Queued<Input>[],
): Promise<void> {
  const now = deps.clock.now();
  const account_ids = [...new Set(commands.map((command) => command.account_id))];
  const [active_keys, stored, account_keys, loaded] = await Promise.all([
    deps.findActiveKeys(tx, [...new Set(commands.map((c) => c.api_key_id))], account_ids),
    findStoredAnswers(tx, commands),
    deps.keyring.openAccounts(tx, account_ids),
    use_case.load(tx, commands),
  ]);
  const fresh: Queued<Input>[] = [];
  for (const command of commands) {
    const earlier = stored.get(command.id);
    if (!active_keys.has(command.api_key_id)) {
      outcomes.set(command, { refusal: new Refusal("unauthorized") });
    } else if (earlier) {
      outcomes.set(command, await replay(deps.keyring, tx, account_keys, command, earlier));
    } else fresh.push(command);
  }
  const verdicts = use_case.decide(loaded, fresh, now);
  const accepted: Accepted<Input, Output>[] = [];
  for (const command of fresh) {
    const verdict = verdicts.get(command.id);
    if (!verdict) throw new Error(`${use_case.name} gave no verdict on a command`);
    if ("refusal" in verdict) outcomes.set(command, verdict);
    else {
      accepted.push({ command, ...verdict });
      written.push(command);
    }
  }
  if (accepted.length === 0) return;
  insertCommands(tx, accepted.map((entry) => {
    const body = use_case.render(entry.output);
    outcomes.set(entry.command as Queued<Input>, { answer: { body, replayed: false } });
    return rowOf(entry, body, account_keys);
  }), now);
  use_case.record(tx, loaded, accepted, now);
}

function rowOf<Input, Output>(
  { command, subject }: Accepted<Input, Output>,
  body: string,
  account_keys: AccountKeys,
) {
  const key = subject?.key ?? account_keys.get(command.account_id)!;
  const place = answerPlace(command.account_id, command.id);
  return {
    command,
    subject_id: subject?.subject_id ?? null,
    answer: command.idempotency ? seal(key, 1, place, Buffer.from(body)) : null,
  };
}

async function replay<Input>(
  keyring: Keyring,
  tx: Transaction,
  account_keys: AccountKeys,
  command: Command<Input>,
  stored: StoredAnswer,
): Promise<Outcome> {
  if (!stored.request_hash.equals(command.idempotency!.request_hash)) {
    return { refusal: new Refusal("idempotency_key_reused") };
  }
  const { account_id } = command;
  const { subject_id } = stored;
  const key = subject_id
    ? (await keyring.openSubjects(tx, [{ account_id, subject_id }])).get(account_id, subject_id)
    : account_keys.get(account_id);
  if (!key) throw new Error("the key of a stored answer is gone");
  const body = open(key, answerPlace(account_id, stored.id), stored.answer).toString();
  return { answer: { body, replayed: true } };
}

function refuseAll<Input>(commands: Queued<Input>[], refusal: Refusal) {
  return new Map(commands.map((command) => [command, { refusal } as Outcome]));
}

export type { Verdict };
