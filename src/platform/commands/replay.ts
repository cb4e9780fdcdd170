import type { Transaction } from "../db/database.ts";
import { open, type Place, seal } from "../encryption/cipher.ts";
import type { Keyring } from "../encryption/keyring.ts";
import { Refusal } from "../errors.ts";
import type { Outcome } from "./model.ts";
import type { StoredAnswer } from "./store.ts";
import type { Command } from "./use-case.ts";

const KEY_VERSION = 1;

/** The stored answers of those commands whose idempotency key is known, by the command's id. */
export async function replayAnswers(
  keyring: Keyring,
  tx: Transaction,
  commands: readonly Command<unknown>[],
  stored: ReadonlyMap<string, StoredAnswer>,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  const equal: { command: Command<unknown>; found: StoredAnswer }[] = [];
  for (const command of commands) {
    const found = stored.get(command.id);
    if (!found) continue;
    if (found.request_hash.equals(command.idempotency!.request_hash)) {
      equal.push({ command, found });
    } else outcomes.set(command.id, { refusal: new Refusal("idempotency_key_reused") });
  }
  const keyOf = await keyring.openOwners(
    tx,
    equal.map(({ found }) => found),
  );
  for (const { command, found } of equal) {
    const { account_id, id } = command;
    const key = keyOf(found);
    outcomes.set(id, key ? replay(key, account_id, found) : gone());
  }
  return outcomes;
}

export function sealAnswer(key: Buffer, { account_id, id }: Command<unknown>, body: string) {
  return seal(key, KEY_VERSION, answerPlace(account_id, id), Buffer.from(body));
}

function replay(key: Buffer, account_id: string, found: StoredAnswer): Outcome {
  const body = open(key, answerPlace(account_id, found.id), found.answer).toString();
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
