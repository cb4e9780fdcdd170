import { useState } from "react";
import { flushSync } from "react-dom";
import { HAS_OWNERS, namedOwners, ownerOf, possibleOwners } from "../owners.ts";
import { Notice } from "../parts/notice.tsx";
import { StepButtons } from "../parts/step-buttons.tsx";
import { StepFrame } from "../parts/step-frame.tsx";
import { useSession } from "../session.ts";
import { fieldsOf } from "../step-list.ts";
import { fill, texts } from "../texts.ts";
import { Question, useDetails } from "./details.tsx";

const ADD_BUTTON = "add-owner";

/** Whether anybody owns much of the company, and who. */
export function Owners() {
  const { state, announce } = useSession();
  const possible = possibleOwners(state);
  const [opened, setOpened] = useState(() => {
    const named = namedOwners(state);
    return named.length > 0 ? named : possible.slice(0, 1);
  });
  const words = texts.owners;
  const fields = fieldsOf(state, "owners");
  const question = fields.find(({ name }) => name === HAS_OWNERS);
  const form = useDetails("owners", (name, { isHidden, values }) => {
    const owner = ownerOf(name);
    if (owner === null) return true;
    // While the answer is hidden, the owners that were named tell it.
    const is_hidden = question !== undefined && isHidden(question);
    const is_yes = is_hidden ? namedOwners(state).length > 0 : values[HAS_OWNERS] === "yes";
    return is_yes && opened.includes(owner);
  });
  const shown = opened.filter((owner) => form.fields.some(({ name }) => ownerOf(name) === owner));
  const namesOf = (owner: number) =>
    fields.map(({ name }) => name).filter((name) => ownerOf(name) === owner);
  const next = possible.find((owner) => !opened.includes(owner));

  function add(owner: number) {
    setOpened([...opened, owner]);
    const [first] = namesOf(owner);
    if (first) form.replace(first);
  }

  function remove(owner: number, number: string) {
    flushSync(() => {
      setOpened(opened.filter((one) => one !== owner));
      form.clear(namesOf(owner));
    });
    announce(fill(words.removed, { number }));
    // The button that had the focus is gone.
    document.getElementById(ADD_BUTTON)?.focus();
  }

  return (
    <StepFrame title={words.title} lead={words.lead} step="owners">
      <form noValidate onSubmit={form.submit}>
        <div role="alert">
          {form.message && <Notice kind="alert" icon="alert" title={form.message} />}
        </div>
        {question && <Question form={form} field={question} />}
        {shown.map((owner, at) => {
          const number = `${at + 1}`;
          return (
            <fieldset key={owner} className="owner">
              <legend>{fill(words.legend, { number })}</legend>
              {form.fields
                .filter(({ name }) => ownerOf(name) === owner)
                .map((field) => (
                  <Question key={field.name} form={form} field={field} />
                ))}
              {shown.length > 1 && (
                <button
                  type="button"
                  className="plain"
                  aria-label={fill(words.remove_of, { number })}
                  onClick={() => remove(owner, number)}
                >
                  {words.remove}
                </button>
              )}
            </fieldset>
          );
        })}
        {shown.length > 0 && next !== undefined && (
          <button type="button" id={ADD_BUTTON} className="add-owner" onClick={() => add(next)}>
            {words.add}
          </button>
        )}
        <StepButtons step="owners" is_busy={form.is_busy} />
      </form>
    </StepFrame>
  );
}
