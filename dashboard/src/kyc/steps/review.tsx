import { type FormEvent, useState } from "react";
import { Refusal, submit as submitAll } from "../api.ts";
import { askedOwners, ownerOf } from "../owners.ts";
import { FilePreview } from "../parts/file-preview.tsx";
import { fileTitle } from "../parts/file-title.ts";
import { Icon } from "../parts/icons.tsx";
import { Notice } from "../parts/notice.tsx";
import { StepButtons } from "../parts/step-buttons.tsx";
import { StepFrame } from "../parts/step-frame.tsx";
import { inWords, useSession, wordsFor } from "../session.ts";
import {
  clearValue,
  type Field,
  type FileSlotName,
  findCountry,
  isMasked,
  type KycState,
} from "../state.ts";
import {
  existsIn,
  fieldsOf,
  filesOf,
  missingOn,
  type StepName,
  stepAsking,
  stepsOf,
} from "../step-list.ts";
import { fill, locale, longDate, texts } from "../texts.ts";

/** Everything that will be sent, with links to change each part. */
export function Review() {
  const { state, change, go, fail, problems, setProblems } = useSession();
  const [message, setMessage] = useState("");
  const [is_busy, setBusy] = useState(false);
  const is_business = state.beneficiary_type === "business";
  const sections = stepsOf(state).filter(({ name }) => name !== "review");
  const missing = sections.flatMap(({ name }) => missingOn(state, name));

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (is_busy) return;
    const [first] = missing;
    if (first) {
      setMessage(texts.review.problems_title);
      document.getElementById(`edit-${stepAsking(state, first)}`)?.focus();
      return;
    }
    setBusy(true);
    setMessage("");
    try {
      await change(submitAll);
      // If something is asked for again, that place shows what.
      go("welcome");
    } catch (error) {
      if (!(error instanceof Refusal) || error.is_final) return fail(error);
      explain(error);
    } finally {
      setBusy(false);
    }
  }

  function explain(error: Refusal) {
    const found = inWords(error.problems);
    setProblems(found);
    const [first] = Object.keys(found);
    setMessage(first ? texts.review.problems_title : wordsFor(error));
    if (first) document.getElementById(`edit-${stepAsking(state, first)}`)?.focus();
  }

  return (
    <StepFrame title={texts.review.title} lead={texts.review.lead} step="review">
      <form noValidate onSubmit={submit}>
        <div role="alert">
          {message && (
            <Notice kind="alert" icon="alert" title={message}>
              <ul>
                {missing.map((name) => (
                  <li key={name}>
                    {nameOf(state, name)}: {texts.review.missing.toLocaleLowerCase(locale)}
                  </li>
                ))}
                {Object.entries(problems).map(([name, words]) => (
                  <li key={name}>
                    {nameOf(state, name)}: {words}
                  </li>
                ))}
              </ul>
            </Notice>
          )}
        </div>
        {sections.map(({ name }) => (
          <Section key={name} step={name} />
        ))}
        <p className="statement">
          {is_business ? texts.review.statement_business : texts.review.statement}
        </p>
        <StepButtons
          step="review"
          is_busy={is_busy}
          label={texts.buttons.submit}
          busy_label={texts.buttons.submitting}
        />
      </form>
    </StepFrame>
  );
}

function Section({ step }: { step: StepName }) {
  const { state, go, problems } = useSession();
  const title = texts.step_names[step];
  const missing = missingOn(state, step);
  // Elsewhere the heading already names the file.
  const has_sides = step === "document";
  const country = clearValue(state, "country");
  const fields = fieldsOf(state, step).filter(({ name }) => existsIn(state, country, name));
  return (
    <section className="summary" aria-labelledby={`summary-${step}`}>
      <div className="summary-head">
        <h2 id={`summary-${step}`}>{title}</h2>
        <button
          type="button"
          className="plain"
          id={`edit-${step}`}
          aria-label={fill(texts.review.edit, { section: title })}
          onClick={() => go(step)}
        >
          {texts.buttons.edit}
        </button>
      </div>
      {[null, ...askedOwners(state)].map((owner) => {
        const own = fields.filter(({ name }) => ownerOf(name) === owner);
        return own.length > 0 && <Answers key={owner} {...{ owner, missing }} fields={own} />;
      })}
      {filesOf(state, step).map((slot) => {
        const file = state.files[slot]?.uploaded;
        const file_title = fileTitle(state, slot);
        return (
          <div key={slot} className="summary-file">
            {has_sides && <p className="summary-label">{file_title}</p>}
            {file ? (
              <FilePreview slot={slot} title={file_title} file={file} is_small />
            ) : (
              <Missing />
            )}
            {problems[slot] && <p className="problem">{problems[slot]}</p>}
          </div>
        );
      })}
    </section>
  );
}

/** The answers of a step, or those about one owner. */
function Answers(props: { owner: number | null; fields: Field[]; missing: string[] }) {
  const { owner, fields, missing } = props;
  const { state, problems } = useSession();
  return (
    <>
      {owner !== null && <h3>{fill(texts.owners.legend, { number: numberOf(state, owner) })}</h3>}
      <dl>
        {fields.map((field) => (
          <div key={field.name}>
            <dt>{texts.fields[field.label_key]?.label ?? field.name}</dt>
            <dd>
              {missing.includes(field.name) ? <Missing /> : shown(state, field)}
              {problems[field.name] && <p className="problem">{problems[field.name]}</p>}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Missing() {
  return (
    <span className="missing">
      <Icon name="alert" />
      {texts.review.missing}
    </span>
  );
}

function shown(state: KycState, field: Field) {
  if (isMasked(state, field.name)) {
    return (
      <span className="masked-value">
        <Icon name="lock" />
        <span className="visually-hidden">{texts.review.hidden}: </span>
        {state.identity[field.name]?.value}
      </span>
    );
  }
  const value = clearValue(state, field.name);
  if (value === "") return <span className="muted">{texts.review.not_given}</span>;
  if (field.kind === "date") return longDate(value);
  if (field.kind === "country") return findCountry(state, value)?.name ?? value;
  if (field.name === "state") {
    const states = findCountry(state, clearValue(state, "country"))?.states;
    return states?.find(([code]) => code === value)?.[1] ?? value;
  }
  if (field.kind === "percent") return `${value} %`;
  return field.kind === "select" ? (texts.options[value] ?? value) : value;
}

function nameOf(state: KycState, name: string): string {
  if (name in state.files) return fileTitle(state, name as FileSlotName);
  const key = state.fields.find((field) => field.name === name)?.label_key ?? name;
  const label = texts.fields[key]?.label ?? name;
  const owner = ownerOf(name);
  if (owner === null) return label;
  const number = numberOf(state, owner);
  return fill(texts.owners.with_field, { number, label: label.toLocaleLowerCase(locale) });
}

/** Owners are counted as they are shown: one that was removed leaves no gap. */
function numberOf(state: KycState, owner: number): string {
  return `${askedOwners(state).indexOf(owner) + 1}`;
}
