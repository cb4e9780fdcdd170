import { useId } from "react";
import { type Field, findCountry, type KycState } from "../state.ts";
import { mustBeGiven } from "../step-list.ts";
import { fill, texts } from "../texts.ts";
import { DateInput } from "./date-input.tsx";

const LONG_TEXT = 300;

/** What browsers and password managers may fill in. */
const AUTOCOMPLETE: Record<string, string | undefined> = {
  first_name: "given-name",
  last_name: "family-name",
  phone: "tel",
  country: "country",
  address_line1: "address-line1",
  address_line2: "address-line2",
  city: "address-level2",
  state: "address-level1",
  postcode: "postal-code",
  company_name: "organization",
};

type Props = {
  state: KycState;
  field: Field;
  value: string;
  country_code: string;
  problem: string | null;
  onChange: (value: string) => void;
  /** The user has left the field: its value may be saved. */
  onLeave: () => void;
};

/** One question: label, hint, input and its problem. */
export function FieldRow(props: Props) {
  const { state, field, country_code, problem } = props;
  const id = `field-${field.name}`;
  const hint_id = useId();
  const problem_id = useId();
  const words = texts.fields[field.label_key];
  const is_required = field.required || mustBeGiven(state, field.name, country_code);
  const hint = hintFor(props);
  const described_by = [hint && hint_id, problem && problem_id].filter(Boolean).join(" ");
  const label = (
    <>
      {words?.label ?? field.name}
      {!is_required && <span className="optional"> ({texts.optional})</span>}
    </>
  );
  const notes = (
    <>
      {hint && (
        <p className="hint" id={hint_id}>
          {hint}
        </p>
      )}
      {problem && (
        <p className="problem" id={problem_id}>
          {problem}
        </p>
      )}
    </>
  );
  const shared = {
    id,
    name: field.name,
    "aria-invalid": problem ? (true as const) : undefined,
    "aria-describedby": described_by || undefined,
    "aria-required": is_required || undefined,
  };
  if (field.kind === "date") {
    return (
      <fieldset className="row" aria-describedby={described_by || undefined}>
        <legend>{label}</legend>
        {notes}
        <DateInput {...props} id={id} />
      </fieldset>
    );
  }
  return (
    <div className="row">
      <label htmlFor={id}>{label}</label>
      {notes}
      <Input {...props} shared={shared} />
    </div>
  );
}

function Input(props: Props & { shared: Record<string, unknown> & { id: string } }) {
  const { state, field, value, country_code, onChange, onLeave, shared } = props;
  const choices = choicesFor(state, field, value, country_code);
  const autoComplete = AUTOCOMPLETE[field.name] ?? "off";
  if (choices) {
    return (
      <select
        {...shared}
        value={value}
        autoComplete={autoComplete}
        onChange={(event) => onChange(event.target.value)}
        onBlur={onLeave}
      >
        <option value="">{texts.choose_one}</option>
        {choices.map(([code, name]) => (
          <option key={code} value={code}>
            {name}
          </option>
        ))}
      </select>
    );
  }
  if ((field.max_length ?? 0) >= LONG_TEXT) {
    return (
      <textarea
        {...shared}
        rows={3}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onBlur={onLeave}
      />
    );
  }
  return (
    <input
      {...shared}
      type={field.kind === "phone" ? "tel" : field.kind === "email" ? "email" : "text"}
      inputMode={field.kind === "percent" ? "decimal" : undefined}
      className={field.name === "postcode" || field.kind === "percent" ? "short" : undefined}
      value={value}
      autoComplete={autoComplete}
      autoCapitalize={field.name === "postcode" ? "characters" : undefined}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
      onBlur={onLeave}
    />
  );
}

/** Countries that are not served are left out; an earlier choice stays in the list. */
function choicesFor(state: KycState, field: Field, value: string, country_code: string) {
  if (field.kind === "country") {
    const offered = state.countries.filter(
      ({ code, is_served }) => is_served || field.name !== "country" || code === value,
    );
    return offered.map(({ code, name }) => [code, name]);
  }
  if (field.name === "state") return findCountry(state, country_code)?.states ?? null;
  if (field.kind !== "select") return null;
  return (field.options ?? []).map((value) => [value, texts.options[value] ?? value]);
}

function hintFor({ state, field, country_code }: Props): string {
  if (field.name !== "postcode") return texts.fields[field.label_key]?.hint ?? "";
  const example = findCountry(state, country_code)?.postcode_example;
  return example ? fill(texts.postcode_hint, { example }) : "";
}
