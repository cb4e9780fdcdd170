import { parseDate } from "../../catalogue/dates.ts";
import { Refusal } from "../../platform/errors.ts";
import { BIRTH_DATE_TRIES_MAX } from "../model.ts";
import { updateVisitConfirmed, updateWrongBirthDates } from "../store.ts";
import { hashBirthDate } from "../tokens.ts";
import {
  canEdit,
  lockVisitor,
  transactAsVisitor,
  type Visitor,
  type VisitorDeps,
} from "./visitor.ts";

/**
 * A visitor who knows the birth date may see the account's data. Only the date that the account had
 * sent before the link was created counts, never one typed on the page, and only while the form is
 * editable. All browsers with the same link share its few attempts.
 */
export async function confirmBirthDate(
  deps: VisitorDeps,
  visitor: Visitor,
  given: unknown,
): Promise<void> {
  const date = typeof given === "string" ? parseDate(given.trim()) : null;
  if (date === null) refuse("Send a real date as DD/MM/YYYY or YYYY-MM-DD.");
  const refusal = await transactAsVisitor(deps, visitor, async (tx) => {
    const { user, subject_key, session } = await lockVisitor(tx, deps, visitor);
    if (!canEdit(user, session)) throw new Refusal("invalid_transition", NOTHING_TO_SHOW);
    const { birth_date_hash } = session;
    if (!birth_date_hash) return "No date of birth is on record; enter your data again instead.";
    if (session.wrong_birth_dates >= BIRTH_DATE_TRIES_MAX) return NO_MORE_TRIES;
    if (hashBirthDate(subject_key, session.id, date).equals(birth_date_hash)) {
      updateVisitConfirmed(tx, visitor.visit, deps.clock.now());
      return null;
    }
    // Returned, not thrown: the wrong attempt must be committed.
    const wrong_birth_dates = session.wrong_birth_dates + 1;
    updateWrongBirthDates(tx, { ...session, wrong_birth_dates });
    const left = BIRTH_DATE_TRIES_MAX - wrong_birth_dates;
    return left > 0
      ? `This date does not match our records. Attempts left: ${left}.`
      : NO_MORE_TRIES;
  });
  if (refusal !== null) refuse(refusal);
}

const NOTHING_TO_SHOW = "Your data was submitted and is no longer shown here.";
const NO_MORE_TRIES =
  "Too many incorrect dates: stored data stays hidden for this link. You can enter it again.";

function refuse(message: string): never {
  throw Refusal.of([{ field: "date_of_birth", code: "record_invalid", message }]);
}
