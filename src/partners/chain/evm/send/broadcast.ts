import type { Database } from "../../../../platform/db/database.ts";
import { type Answer, clearestOf, readAnswer } from "./answers.ts";
import { updateTried } from "./attempt-store.ts";
import type { Attempt, OpenSend, Sender } from "./model.ts";

/** A node may lose what it accepted: it is sent again, the same bytes. */
const SENT_AGAIN_AFTER_MS = 30_000;
const TRIED_AGAIN_AFTER_MS = 5_000;

/** Whether a pause is over; also where the clock was ahead when it began. */
export function isPast(since: Date, pause_ms: number, now: Date): boolean {
  const passed_ms = now.getTime() - since.getTime();
  return passed_ms >= pause_ms || passed_ms < 0;
}

/** The transaction that should be mined: the last one that is signed. */
export function currentAttempt({ attempts }: OpenSend): Attempt | undefined {
  return attempts.findLast(({ raw }) => raw !== null);
}

export function isAccepted({ answer }: Attempt): boolean {
  return answer === "accepted";
}

/** Sends the stored bytes of a send to all nodes, if it is time. Returns what they said. */
export async function broadcast(
  database: Database,
  sender: Sender,
  send: OpenSend,
  latest_block: number,
  now: Date,
): Promise<Answer | null> {
  const attempt = currentAttempt(send);
  if (!attempt) return null;
  const pause_ms = isAccepted(attempt) ? SENT_AGAIN_AFTER_MS : TRIED_AGAIN_AFTER_MS;
  const is_due = !attempt.tried_at || isPast(attempt.tried_at, pause_ms, now);
  if (!is_due) return null;
  const answers = await Promise.all(
    sender.rpcs.map((rpc) => rpc.sendRaw(attempt.raw!).then(() => "accepted" as const, readAnswer)),
  );
  const answer = clearestOf(answers);
  const accepted_block = answer === "accepted" ? latest_block : null;
  await updateTried(database, attempt, { answer, accepted_block }, now);
  return answer;
}
