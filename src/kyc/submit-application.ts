import { type Problem, Refusal } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import { enqueueTasks, taskNow } from "../platform/tasks/tasks.ts";
import { hashEmail, updateIdentities } from "../users/store.ts";
import {
  findKycDraft,
  findLastApplication,
  insertApplication,
  type KycApplication,
  listKycFiles,
  updateFilesSubmitted,
} from "./application-store.ts";
import { checkIdentity, findMissing } from "./check-identity.ts";
import {
  FIELDS,
  type FieldName,
  isSlotRequired,
  knownValues,
  PERSON_FIELDS,
  SLOTS_OF,
  withSubmitted,
} from "./fields.ts";
import { laidOver, type StateDeps } from "./load-state.ts";
import { recordMoves } from "./move-kyc.ts";
import { findOtherNames } from "./same-name.ts";
import { ASSESS_APPLICATION_TASK } from "./task-kinds.ts";
import { changeAsVisitor, type Visitor } from "./visitor.ts";

/**
 * The draft becomes an application and the user's own data, in the transaction that moves the
 * state. A name that contradicts the known one stays out of the user's record: whoever holds the
 * link must not be able to turn the user into somebody else.
 */
export function submitApplication(deps: StateDeps, visitor: Visitor): Promise<void> {
  return changeAsVisitor(deps, visitor, async (tx, locked, now) => {
    const { user, subject_key } = locked;
    const { key } = visitor;
    const type = user.beneficiary_type;
    const draft = await findKycDraft(tx, key, subject_key);
    const last = await findLastApplication(tx, key, subject_key);
    const files = await listKycFiles(tx, key, null);
    const known = knownValues(type, user.identity, last?.submitted?.values ?? {});
    const today = now.toISOString().slice(0, 10);
    const standing = laidOver(known, draft);
    const problems = findMissing(deps.catalogue, type, standing, today);
    const document_type = standing[PERSON_FIELDS[type].document_type] ?? null;
    const given = new Map(files.map((file) => [file.slot, file.type]));
    for (const slot of SLOTS_OF[type]) {
      if (given.has(slot)) continue;
      if (isSlotRequired(slot, document_type, given.get("document_front"))) {
        problems.push(missingFile(slot));
      }
    }
    if (problems.length > 0) throw Refusal.of(problems);

    // Once more through the checks, for the form in which values are kept.
    const { values } = checkIdentity(deps.catalogue, type, standing, standing, today);
    const other_names = findOtherNames(type, known, values);
    const application: KycApplication = {
      account_id: key.account_id,
      id: newId(now),
      user_id: key.user_id,
      submitted_at: now,
      decided_at: null,
      submitted: { values, other_names, changed: changedFields(type, known, values) },
    };
    const identity = withSubmitted(type, user.identity, values, other_names);
    const changed = { ...user, identity, updated_at: now };
    insertApplication(tx, application, subject_key);
    updateFilesSubmitted(tx, key, application.id);
    const email_index = hashEmail(deps.index_key, key.account_id, identity.email ?? "");
    updateIdentities(tx, [{ user: changed, email_index, key: subject_key }]);
    const path = user.kyc.general.status === "initiated" ? [] : (["initiated"] as const);
    const moved = { user: changed, subject_key };
    recordMoves(tx, moved, [...path, "pending_assessment"], null, now);
    const record = { account_id: key.account_id, id: application.id };
    enqueueTasks(tx, [taskNow(ASSESS_APPLICATION_TASK, record, now)]);
  });
}

/** What was known and is now something else: a reviewer looks there first. */
function changedFields(
  type: keyof typeof FIELDS,
  known: ReturnType<typeof laidOver>,
  values: ReturnType<typeof laidOver>,
): FieldName[] {
  return FIELDS[type]
    .map(({ name }) => name)
    .filter((name) => known[name] && known[name] !== values[name]);
}

function missingFile(slot: string): Problem {
  const message = "This picture or file is still needed.";
  return { field: `files.${slot}`, code: "parameter_missing", message };
}
