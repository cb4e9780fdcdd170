import { type Problem, Refusal } from "../../platform/errors.ts";
import { type KycDraft, updateKycDraft } from "../application-store.ts";
import { checkIdentity } from "../check-identity.ts";
import type { IdentityFieldName } from "../fields.ts";
import { sharesBeside } from "../owners.ts";
import { loadForm, maySee, type StateDeps } from "./load-state.ts";
import { recordBegun } from "./record-begun.ts";
import { changeAsVisitor, type Visitor } from "./visitor.ts";

/** Merges the values into the draft; one wrong value and nothing is saved. */
export function saveIdentity(
  deps: StateDeps,
  visitor: Visitor,
  given: Record<string, unknown>,
): Promise<void> {
  return changeAsVisitor(deps, visitor, async (tx, locked, now) => {
    const { type, draft, record, standing } = await loadForm(tx, visitor.key, locked);
    const today = now.toISOString().slice(0, 10);
    const isHidden = (name: IdentityFieldName) => {
      const value = standing[name] ?? null;
      return value !== null && !maySee(visitor.visit, draft, record, name, value);
    };
    // What is hidden must not be guessed from the refusals.
    if (isHidden("country") && isJudgedByCountry(given)) throw Refusal.of([COUNTRY_NEEDED]);
    const hidden_shares = sharesBeside(given).filter(isHidden);
    if (hidden_shares.length > 0) throw Refusal.of(hidden_shares.map(shareNeeded));
    const beside = { standing, record };
    const { values, problems } = checkIdentity(deps.catalogue, type, given, beside, today);
    if (problems.length > 0) throw Refusal.of(problems);
    const names = Object.keys(values) as (keyof typeof values)[];
    if (names.length === 0) return;
    const changed: KycDraft = { ...draft };
    for (const name of names) {
      changed[name] = { value: values[name] ?? null, visit_id: visitor.visit.id };
    }
    updateKycDraft(tx, visitor.key, changed, locked.subject_key, now);
    recordBegun(tx, locked, now);
  });
}

const COUNTRY_NEEDED: Problem = {
  field: "identity.country",
  code: "parameter_missing",
  message: "Choose the country again. It is hidden here, and other fields depend on it.",
};

function shareNeeded(name: IdentityFieldName): Problem {
  const message = "Enter this share again. It is hidden here, and all shares are added up.";
  return { field: `identity.${name}`, code: "parameter_missing", message };
}

function isJudgedByCountry({ country, state, postcode }: Record<string, unknown>): boolean {
  return (state ?? postcode ?? null) !== null && (country ?? null) === null;
}
