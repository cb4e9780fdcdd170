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
        {form.fields.map((field) =>
          form.isHidden(field) ? (
            <MaskedRow
              key={field.name}
              state={form.state}
              field={field}
              onReplace={() => form.replace(field.name)}
            />
          ) : (
            <FieldRow
              key={field.name}
              state={form.state}
              field={field}
              value={form.values[field.name] ?? ""}
              country_code={form.country_code}
              problem={form.problems[field.name] ?? null}
              onChange={(value) => form.change(field.name, value)}
              onLeave={() => form.leave(field)}
            />
          ),
        )}
        <StepButtons step={step} is_busy={form.is_busy} />
      </form>
    </StepFrame>
  );
}

function useDetails(step: StepName) {
  const session = useSession();
  const { state, save, go, fail } = session;
  const asked = fieldsOf(state, step);
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(asked.map(({ name }) => [name, clearValue(state, name)])),
  );
  const [replaced, setReplaced] = useState<readonly string[]>([]);
  const [problems, setProblems] = useState<Record<string, string>>(session.problems);
  const [refusal, setRefusal] = useState("");
  const [told, setTold] = useState(false);
  const [is_busy, setBusy] = useState(false);
  const [focus_on, setFocusOn] = useState<{ name: string } | null>(null);
  const leaving = useRef(false);

  // After the drawing: the field may only just have appeared.
  useEffect(() => {
    if (focus_on) document.getElementById(`field-${focus_on.name}`)?.focus();
  }, [focus_on]);

  const country_code = values.country ?? "";
  const isHidden = ({ name }: Field) => isMasked(state, name) && !replaced.includes(name);
  const fields = asked.filter(
    ({ name }) => existsIn(state, country_code, name) || problems[name] !== undefined,
  );
  // Counted anew each time: what was fixed, and what is no longer asked, needs no attention.
  const wrong = fields.filter(({ name }) => told && problems[name] !== undefined).length;
  const message = refusal || (wrong > 0 ? count(texts.problems.summary, wrong) : "");
  const sent = (field: Field) => {
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
    const settled = name === "country" ? ["country", "state", "postcode"] : [name];
    setProblems((known) => without(known, settled));
    session.setProblems(without(session.problems, settled));
  }

  function replace(name: string) {
    setReplaced((known) => [...known, name]);
    setFocusOn({ name });
  }

  /** Saves in passing: a phone that needs memory may end the page at any moment. */
  function leave(field: Field) {
    const value = sent(field);
    const is_same = value === clearValue(state, field.name);
    if (leaving.current || value === "" || is_same || isHidden(field)) return;
    if (findProblem(state, field, value, country_code)) return;
    // A postcode can only be judged together with its country.
    const is_of_country = field.name === "state" || field.name === "postcode";
    const given: Record<string, string> = { [field.name]: value };
    if (is_of_country && country_code) given.country = country_code;
    save(given).catch((error) => {
      if (error instanceof Refusal && error.is_final) fail(error);
      // Any other refusal is told when the person goes on.
    });
  }

  function show(found: Record<string, string>, words: string) {
    setProblems(found);
    setRefusal(words);
    setTold(true);
    // What is wrong and hidden can only be given anew.
    setReplaced((known) => [...known, ...Object.keys(found)]);
    const first = fields.find(({ name }) => found[name]);
    if (first) setFocusOn({ name: first.name });
  }

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (leaving.current) return;
    const given = fields.filter((field) => !isHidden(field));
    const found: Record<string, string> = {};
    for (const field of given) {
      const problem = findProblem(state, field, sent(field), country_code);
      if (problem) found[field.name] = problem;
    }
    const number = Object.keys(found).length;
    if (number > 0) return show(found, "");

    leaving.current = true;
    setBusy(true);
    show({}, "");
    try {
      const gone = asked.filter((field) => !fields.includes(field) && isKnown(state, field.name));
      await save({
        ...Object.fromEntries(given.map((field) => [field.name, sent(field) || null])),
        ...Object.fromEntries(gone.map(({ name }) => [name, null])),
      });
      go(stepAfter(state, step));
    } catch (error) {
      if (!(error instanceof Refusal) || error.is_final) return fail(error);
      const refused = inWords(error.problems);
      const here = Object.keys(refused).filter((name) => asked.some((ask) => ask.name === name));
      show(refused, here.length > 0 ? "" : wordsFor(error));
    } finally {
      leaving.current = false;
      setBusy(false);
    }
  }

  return {
    ...{ state, fields, values, country_code, problems, message, is_busy },
    ...{ isHidden, change, replace, leave, submit },
  };
}

function without(problems: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(problems).filter(([name]) => !names.includes(name)));
}
