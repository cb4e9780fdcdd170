import { type Problem, Refusal } from "../../platform/errors.ts";
import { type KycDraft, updateKycDraft } from "../application-store.ts";
import { checkIdentity } from "../check-identity.ts";
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
    const { country } = standing;
    if (country && !maySee(visitor.visit, draft, record, "country", country)) {
      // The country is hidden: the refusals would let a visitor guess it.
      if (isJudgedByCountry(given)) throw Refusal.of([COUNTRY_NEEDED]);
    }
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

function isJudgedByCountry({ country, state, postcode }: Record<string, unknown>): boolean {
  return (state ?? postcode ?? null) !== null && (country ?? null) === null;
}
