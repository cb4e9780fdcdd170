import type { BankAnswer } from "../../partners/bank/port.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Session } from "../../platform/db/database.ts";
import { splitByBytes } from "../../platform/tasks/split-by-bytes.ts";
import { CHUNK } from "../fund-offramps.ts";
import { findOfframpLinks } from "../store.ts";
import { offrampsOf } from "./apply-bank-answers.ts";
import { offrampIdOf } from "./model.ts";

/** For a transaction each, in their order: by number and by the size of the offramps' details. */
export async function splitAnswers<Answer extends BankAnswer>(
  session: Session,
  answers: readonly Answer[],
): Promise<Answer[][]> {
  const links = AccountMap.of(
    await findOfframpLinks(session, offrampsOf(answers)),
    (offramp) => offramp,
  );
  const bytesOf = ({ account_id, end_to_end_id }: BankAnswer) =>
    links.get(account_id, offrampIdOf(end_to_end_id) ?? "")?.bytes ?? 0;
  return splitByBytes(answers, bytesOf).flatMap((part) =>
    Array.from({ length: Math.ceil(part.length / CHUNK) }, (_, at) =>
      part.slice(at * CHUNK, (at + 1) * CHUNK),
    ),
  );
}
