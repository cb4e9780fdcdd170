import { type Problem, Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { enqueueTasks } from "../../platform/tasks/tasks.ts";
import { screenAgain } from "../../users/screen-again.ts";
import { existsScreening } from "../../users/store.ts";
import {
  insertApplication,
  type KycApplication,
  listKycFiles,
  updateFilesSubmitted,
} from "../application-store.ts";
import { checkIdentity, findMissing } from "../check-identity.ts";
import { isSlotRequired, PERSON_FIELDS, SLOTS_OF } from "../fields.ts";
import { recordMoves } from "../move-kyc.ts";
import { ASSESS_APPLICATION_TASK } from "../task-kinds.ts";
import { loadForm, type StateDeps } from "./load-state.ts";
import { findOtherNames } from "./same-name.ts";
import { changeAsVisitor, type Visitor } from "./visitor.ts";

/**
 * Turns the draft into an application, in the transaction that changes the status. The user's
 * record keeps the account's values until the approval: the holder of a link must not be able to
 * turn the user into another person.
 */
export function submitApplication(deps: StateDeps, visitor: Visitor): Promise<void> {
  return changeAsVisitor(deps, visitor, async (tx, locked, now) => {
    const { user, subject_key } = locked;
    const { key } = visitor;
    const { type, record, standing } = await loadForm(tx, key, locked);
    const files = await listKycFiles(tx, key, null);
    const today = now.toISOString().slice(0, 10);
    const problems = findMissing(deps.catalogue, type, standing, record, today);
    const document_type = standing[PERSON_FIELDS[type].document_type] ?? null;
    const given = new Map(files.map((file) => [file.slot, file.type]));
    for (const slot of SLOTS_OF[type]) {
      if (given.has(slot)) continue;
      if (isSlotRequired(slot, document_type, given.get("document_front"))) {
        problems.push(missingFile(slot));
      }
    }
    if (problems.length > 0) throw Refusal.of(problems);

    // Checked again to get the values in their stored form.
    const beside = { standing, record };
    const { values } = checkIdentity(deps.catalogue, type, standing, beside, today);
    const other_names = findOtherNames(type, record, values);
    const application: KycApplication = {
      account_id: key.account_id,
      id: newId(now),
      user_id: key.user_id,
      submitted_at: now,
      decided_at: null,
      submitted: { values, known: record, other_names },
    };
    insertApplication(tx, application, subject_key);
    updateFilesSubmitted(tx, key, application.id);
    const path = user.kyc.general.status === "initiated" ? [] : (["initiated"] as const);
    recordMoves(tx, locked, [...path, "pending_assessment"], null, now);
    if (type === "business") screenAgain(tx, await existsScreening(tx), [key], now);
    enqueueTasks(tx, ASSESS_APPLICATION_TASK, [application], now);
  });
}

function missingFile(slot: string): Problem {
  const message = "This file is required.";
  return { field: `files.${slot}`, code: "parameter_missing", message };
}
