import type { Transaction } from "../db/database.ts";
import { open, type Place, seal } from "../encryption/cipher.ts";
import type { Keyring } from "../encryption/keyring.ts";
import { Refusal } from "../errors.ts";
import { PUT_OFF, type PutOff } from "./batcher.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { Outcome } from "./model.ts";
import { listAnswers, type StoredAnswer } from "./store.ts";
import type { Command } from "./use-case.ts";

const KEY_VERSION = 1;

/** The stored answers of those commands whose idempotency key is known, by the command's id. */
export async function replayAnswers(
  keyring: Keyring,
  tx: Transaction,
  commands: readonly Command<unknown>[],
  stored: ReadonlyMap<string, StoredAnswer>,
  budget: ByteBudget,
): Promise<Map<string, Outcome | PutOff>> {
  const outcomes = new Map<string, Outcome | PutOff>();
  const equal: { command: Command<unknown>; found: StoredAnswer }[] = [];
  for (const command of commands) {
    const found = stored.get(command.id);
    if (!found) continue;
    if (!found.request_hash.equals(command.idempotency!.request_hash)) {
      outcomes.set(command.id, { refusal: new Refusal("idempotency_key_reused") });
    } else if (budget.is_spent) {
      outcomes.set(command.id, PUT_OFF);
    } else {
      budget.spend(found.answer_bytes);
      equal.push({ command, found });
    }
  }
  const wanted = equal.map(({ found }) => found);
  const [answers, keyOf] = await Promise.all([
    listAnswers(tx, wanted),
    keyring.openOwners(tx, wanted),
  ]);
  for (const { command, found } of equal) {
    const [key, answer] = [keyOf(found), answers.get(found.id)];
    outcomes.set(command.id, key && answer ? replay(key, found, answer) : gone());
  }
  return outcomes;
}

export function sealAnswer(key: Buffer, { account_id, id }: Command<unknown>, body: string) {
  return seal(key, KEY_VERSION, answerPlace(account_id, id), Buffer.from(body));
}

function replay(key: Buffer, { account_id, id }: StoredAnswer, answer: Buffer): Outcome {
  const body = open(key, answerPlace(account_id, id), answer).toString();
  return { answer: { body, replayed: true } };
}

/**
 * The person was erased after the answer was stored, and with their key everything it encrypted.
 */
function gone(): Outcome {
  return { refusal: new Refusal("record_not_found") };
}

function answerPlace(account_id: string, command_id: string): Place {
  return { account_id, table: "commands", column: "answer", record_id: command_id };
}
