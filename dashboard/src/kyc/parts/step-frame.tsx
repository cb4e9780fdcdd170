import { type ReactNode, useEffect, useRef } from "react";
import { useSession } from "../session.ts";
import { type StepName, stepsOf } from "../step-list.ts";
import { fill, texts } from "../texts.ts";

let is_first = true;

/**
 * The heading of a place. When the place changes, the heading gets the focus, so that screen
 * readers announce it and the keyboard continues from there. Not on opening, since nothing has
 * changed.
 */
export function StepFrame(props: {
  title: string;
  lead?: string;
  step?: StepName;
  children: ReactNode;
}) {
  const { title, lead, step, children } = props;
  const { state } = useSession();
  const heading = useRef<HTMLHeadingElement>(null);
  const steps = stepsOf(state);
  const number = steps.findIndex(({ name }) => name === step) + 1;
  const total = steps.length;
  const position =
    number > 0 ? fill(texts.step_of, { number: `${number}`, total: `${total}` }) : "";

  useEffect(() => {
    const page = position ? `${position} · ${texts.page_title}` : texts.page_title;
    document.title = fill(texts.title_with, { title, page });
  }, [title, position]);

  useEffect(() => {
    if (!is_first) {
      window.scrollTo(0, 0);
      heading.current?.focus({ preventScroll: true });
    }
    is_first = false;
  }, []);

  return (
    <>
      {position && (
        <div className="progress">
          <p id="position">{position}</p>
          <div className="segments" aria-hidden="true">
            {steps.map(({ name }, at) => (
              <span key={name} className={at < number ? "segment reached" : "segment"} />
            ))}
          </div>
        </div>
      )}
      <h1 ref={heading} tabIndex={-1} aria-describedby={position ? "position" : undefined}>
        {title}
      </h1>
      {lead && <p className="lead">{lead}</p>}
      {children}
    </>
  );
}
