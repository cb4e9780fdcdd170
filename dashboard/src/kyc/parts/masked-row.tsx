import type { Field, KycState } from "../state.ts";
import { fill, texts } from "../texts.ts";
import { Icon } from "./icons.tsx";

/** A known, hidden value: it is kept unless the user enters another. */
export function MaskedRow(props: { state: KycState; field: Field; onReplace: () => void }) {
  const { state, field, onReplace } = props;
  const label = texts.fields[field.label_key]?.label ?? field.name;
  return (
    <div className="row masked">
      <div>
        <p className="masked-label">{label}</p>
        <p className="masked-value">
          <Icon name="lock" />
          <span className="visually-hidden">{texts.shown_masked}: </span>
          {state.identity[field.name]?.value}
        </p>
      </div>
      <button
        type="button"
        className="plain"
        aria-label={fill(texts.change_of, { label })}
        onClick={onReplace}
      >
        {texts.buttons.change}
      </button>
    </div>
  );
}
