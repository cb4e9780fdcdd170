import { type FormEvent, useState } from "react";
import { confirmBirthDate, Refusal } from "../api.ts";
import { findProblem } from "../field-checks.ts";
import { wholeDate } from "../parts/date-input.tsx";
import { FieldRow } from "../parts/field-row.tsx";
import { Notice } from "../parts/notice.tsx";
import { StepFrame } from "../parts/step-frame.tsx";
import { useSession, wordsFor } from "../session.ts";
import type { Field } from "../state.ts";
import { firstOpenStep, stepsOf } from "../step-list.ts";
import { texts } from "../texts.ts";

const BIRTH_DATE: Field = {
  name: "confirmed_birth_date",
  label_key: "date_of_birth",
  kind: "date",
  required: true,
  max_length: null,
  options: null,
};

/** A link may have been stolen: known data is shown only after the birth date is confirmed. */
export function Confirm() {
  const { state, change, go, fail, is_lost } = useSession();
  const [value, setValue] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [is_busy, setBusy] = useState(false);
  const words = texts.confirm;
  // Even if everything is known already, the user reviews it from the beginning.
  const goOn = () => go(stepsOf(state)[0]?.name ?? firstOpenStep(state));

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (is_busy) return;
    const date = wholeDate(value);
    const found = findProblem(state, BIRTH_DATE, date, "");
    if (found) return refuse(found);
    setBusy(true);
    try {
      await change(() => confirmBirthDate(date));
      goOn();
    } catch (error) {
      if (!(error instanceof Refusal) || error.is_final) return fail(error);
      const [first] = Object.values(error.problems);
      refuse(wordsFor(first ?? error));
    } finally {
      setBusy(false);
    }
  }

  function refuse(text: string) {
    setProblem(text);
    document.getElementById(`field-${BIRTH_DATE.name}`)?.focus();
  }

  const busy_words = is_lost ? texts.buttons.waiting : words.checking;
  return (
    <StepFrame title={words.title} lead={words.lead}>
      <form noValidate onSubmit={submit}>
        {!state.can_confirm && <Notice kind="alert" icon="alert" title={words.used_up} is_urgent />}
        {state.can_confirm && (
          <div aria-live="polite">
            <FieldRow
              state={state}
              field={BIRTH_DATE}
              value={value}
              country_code=""
              problem={problem}
              onChange={setValue}
              onLeave={() => {}}
            />
          </div>
        )}
        <p className="hint spaced">{words.skip_hint}</p>
        <div className="buttons">
          {state.can_confirm && (
            <button type="submit" className="primary" aria-disabled={is_busy}>
              {is_busy ? busy_words : words.button}
            </button>
          )}
          <button type="button" className="quiet" onClick={goOn}>
            {words.skip}
          </button>
        </div>
      </form>
    </StepFrame>
  );
}
