import { type FormEvent, useEffect, useRef, useState } from "react";
import { Refusal } from "../api.ts";
import { findProblem } from "../field-checks.ts";
import { wholeDate } from "../parts/date-input.tsx";
import { FieldRow } from "../parts/field-row.tsx";
import { MaskedRow } from "../parts/masked-row.tsx";
import { Notice } from "../parts/notice.tsx";
import { StepButtons } from "../parts/step-buttons.tsx";
import { StepFrame } from "../parts/step-frame.tsx";
import { inWords, useSession, wordsFor } from "../session.ts";
import { clearValue, type Field, isKnown, isMasked } from "../state.ts";
import { existsIn, fieldsOf, type StepName, stepAfter } from "../step-list.ts";
import { count, texts } from "../texts.ts";

/** A step of questions: about you, the company, the address, the controlling person. */
export function Details(props: { step: StepName; title: string; lead: string }) {
  const { step, title, lead } = props;
  const form = useDetails(step);
  return (
    <StepFrame title={title} lead={lead} step={step}>
      <form noValidate onSubmit={form.submit}>
        <div role="alert">
          {form.message && <Notice kind="alert" icon="alert" title={form.message} />}
        </div>
        {form.fields.map((field) => (
          <Question key={field.name} form={form} field={field} />
        ))}
        <StepButtons step={step} is_busy={form.is_busy} />
      </form>
    </StepFrame>
  );
}

type Form = ReturnType<typeof useDetails>;

/** A field to fill in, or what is known of it and hidden. */
export function Question({ form, field }: { form: Form; field: Field }) {
  if (form.isHidden(field)) {
    const onReplace = () => form.replace(field.name);
    return <MaskedRow state={form.state} field={field} onReplace={onReplace} />;
  }
  return (
    <FieldRow
      state={form.state}
      field={field}
      value={form.values[field.name] ?? ""}
      country_code={form.country_code}
      problem={form.problems[field.name] ?? null}
      onChange={(value) => form.change(field.name, value)}
      onLeave={() => form.leave(field)}
    />
  );
}

/** Which of a step's fields are asked for, as far as it is answered. */
type IsAsked = (field: string, answers: ReturnType<typeof useAnswers>) => boolean;

export function useDetails(step: StepName, isAsked?: IsAsked) {
  const session = useSession();
  const { state, save, go, fail } = session;
  const asked = fieldsOf(state, step);
  const answers = useAnswers(step);
  const { problems, isHidden, currentValue, country_code } = answers;
  const [refusal, setRefusal] = useState("");
  const [is_submitted, setSubmitted] = useState(false);
  const [is_busy, setBusy] = useState(false);
  const is_saving = useRef(false);

  const exists = (name: string) =>
    isAsked ? isAsked(name, answers) : existsIn(state, country_code, name);
  const fields = asked.filter(({ name }) => exists(name) || problems[name] !== undefined);
  // Counted on every render: corrected fields and fields no longer asked do not count.
  const wrong = fields.filter(({ name }) => is_submitted && problems[name] !== undefined).length;
  const message = refusal || (wrong > 0 ? count(texts.problems.summary, wrong) : "");

  /** Saves each field as the user leaves it: a phone low on memory may end the page any time. */
  function leave(field: Field) {
    const value = currentValue(field);
    const is_same = value === clearValue(state, field.name);
    if (is_saving.current || value === "" || is_same || isHidden(field)) return;
    if (findProblem(state, field, value, country_code)) return;
    // A postcode can only be checked together with its country.
    const is_of_country = field.name === "state" || field.name === "postcode";
    const given: Record<string, string> = { [field.name]: value };
    if (is_of_country && country_code) given.country = country_code;
    save(given).catch((error) => {
      if (error instanceof Refusal && error.is_final) fail(error);
      // Any other refusal is shown when the user submits the step.
    });
  }

  function show(found: Record<string, string>, refusal_text: string) {
    setRefusal(refusal_text);
    setSubmitted(true);
    answers.showProblems(found, fields);
  }

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (is_saving.current) return;
    const given = fields.filter((field) => !isHidden(field));
    const found: Record<string, string> = {};
    for (const field of given) {
      const problem = findProblem(state, field, currentValue(field), country_code);
      if (problem) found[field.name] = problem;
    }
    if (Object.keys(found).length > 0) return show(found, "");

    is_saving.current = true;
    setBusy(true);
    show({}, "");
    try {
      const gone = asked.filter((field) => !fields.includes(field) && isKnown(state, field.name));
      await save({
        ...Object.fromEntries(given.map((field) => [field.name, currentValue(field) || null])),
        ...Object.fromEntries(gone.map(({ name }) => [name, null])),
      });
      go(stepAfter(state, step));
    } catch (error) {
      if (!(error instanceof Refusal) || error.is_final) return fail(error);
      const refused = inWords(error.problems);
      const here = Object.keys(refused).filter((name) => asked.some((ask) => ask.name === name));
      show(refused, here.length > 0 ? "" : wordsFor(error));
    } finally {
      is_saving.current = false;
      setBusy(false);
    }
  }

  return { ...answers, state, fields, message, is_busy, leave, submit };
}

/** The values typed into the fields of a step, their problems, and the field to focus. */
function useAnswers(step: StepName) {
  const session = useSession();
  const { state } = session;
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(fieldsOf(state, step).map(({ name }) => [name, clearValue(state, name)])),
  );
  const [replaced, setReplaced] = useState<readonly string[]>([]);
  const [problems, setProblems] = useState<Record<string, string>>(session.problems);
  const [focus_on, setFocusOn] = useState<{ name: string } | null>(null);

  // After rendering, because the field may only just have appeared.
  useEffect(() => {
    if (focus_on) document.getElementById(`field-${focus_on.name}`)?.focus();
  }, [focus_on]);

  const isHidden = ({ name }: Field) => isMasked(state, name) && !replaced.includes(name);
  const currentValue = (field: Field) => {
    const value = (values[field.name] ?? "").trim();
    return field.kind === "date" ? wholeDate(value) : value;
  };

  function change(name: string, value: string) {
    setValues((known) => ({
      ...known,
      [name]: value,
      // A state and a postcode belong to their country.
      ...(name === "country" ? { state: "", postcode: "" } : {}),
    }));
    if (name === "country") setReplaced((known) => [...known, "state", "postcode"]);
    const changed = name === "country" ? ["country", "state", "postcode"] : [name];
    setProblems((known) => without(known, changed));
    session.setProblems(without(session.problems, changed));
  }

  /** As if nothing had been given. */
  function clear(names: string[]) {
    setValues((known) => ({ ...known, ...Object.fromEntries(names.map((name) => [name, ""])) }));
    setReplaced((known) => [...known, ...names]);
    setProblems((known) => without(known, names));
    session.setProblems(without(session.problems, names));
  }

  function replace(name: string) {
    setReplaced((known) => [...known, name]);
    setFocusOn({ name });
  }

  function showProblems(found: Record<string, string>, fields: readonly Field[]) {
    setProblems(found);
    // A masked value that is wrong must be entered again.
    setReplaced((known) => [...known, ...Object.keys(found)]);
    const first = fields.find(({ name }) => found[name]);
    if (first) setFocusOn({ name: first.name });
  }

  const country_code = values.country ?? "";
  const acts = { change, clear, replace, showProblems };
  return { values, problems, country_code, isHidden, currentValue, ...acts };
}

function without(problems: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(problems).filter(([name]) => !names.includes(name)));
}
