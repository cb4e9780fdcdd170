import { useState } from "react";
import { Refusal } from "../api.ts";
import { useSession, wordsFor } from "../session.ts";
import { clearValue, isMasked } from "../state.ts";
import { fieldsOf } from "../step-list.ts";
import { texts } from "../texts.ts";
import { FilesStep } from "./files-step.tsx";

/** The document type, then its sides: the server decides whether the back is needed. */
export function DocumentStep() {
  const { state, save, fail, problems, setProblems } = useSession();
  const is_business = state.beneficiary_type === "business";
  const [field] = fieldsOf(state, "document");
  const name = field?.name ?? "document_type";
  // Chosen before, in another browser: it is kept, and not shown.
  const is_kept = isMasked(state, name);
  const [chosen, setChosen] = useState(clearValue(state, name));
  const [problem, setProblem] = useState<string | null>(problems[name] ?? null);

  async function choose(type: string) {
    const before = chosen;
    setChosen(type);
    setProblem(null);
    const { [name]: _settled, ...others } = problems;
    setProblems(others);
    try {
      await save({ [name]: type });
    } catch (error) {
      if (!(error instanceof Refusal) || error.is_final) return fail(error);
      setChosen(before);
      setProblem(wordsFor(error.problems[name] ?? error));
    }
  }

  function refuse() {
    if (chosen || is_kept) return false;
    setProblem(texts.problems.document_type);
    document.querySelector<HTMLInputElement>(`input[name="${name}"]`)?.focus();
    return true;
  }

  return (
    <FilesStep
      step="document"
      title={is_business ? texts.document.title_business : texts.document.title}
      lead={texts.document.lead}
      are_files_open={chosen !== "" || is_kept}
      refuse={refuse}
    >
      <fieldset
        className="row choices"
        aria-describedby={problem ? "document-type-problem" : undefined}
      >
        <legend>{texts.document.type}</legend>
        {problem && (
          <p className="problem" id="document-type-problem" role="alert">
            {problem}
          </p>
        )}
        {is_kept && <p className="hint">{texts.document.kept}</p>}
        <div className="choice-list">
          {(field?.options ?? []).map((option) => (
            <label key={option} className="choice">
              <input
                type="radio"
                name={name}
                value={option}
                checked={chosen === option}
                onChange={() => void choose(option)}
              />
              <span>{texts.options[option] ?? option}</span>
            </label>
          ))}
        </div>
      </fieldset>
    </FilesStep>
  );
}
