import type { ReactNode } from "react";
import type { KycState } from "../state.ts";
import { missingOn, type PlaceName, stepsOf } from "../step-list.ts";
import { fill, texts } from "../texts.ts";
import { Icon, Mark } from "./icons.tsx";
import { Notice } from "./notice.tsx";

/**
 * The frame of every place: who asks, the list of steps on a wide screen, the connection. The
 * content's id is the place's name, so that the skip link does not change the place.
 */
export function Layout(props: {
  state: KycState | null;
  place: PlaceName;
  has_ended: boolean;
  is_lost: boolean;
  retryNow: () => void;
  announcement: string;
  children: ReactNode;
}) {
  const { state, place, has_ended, is_lost, retryNow, announcement, children } = props;
  const account = state?.account_name;
  const is_on_the_way = state?.can_edit && !has_ended && place !== "welcome" && place !== "confirm";
  return (
    <>
      <a className="skip" href={`#${place}`}>
        {texts.skip}
      </a>
      <header>
        <div className={is_on_the_way ? "column wide" : "column"}>
          <Mark />
          <p>
            <span className="brand">{account ?? texts.page_title}</span>
            {account && <span className="brand-note">{texts.page_title}</span>}
          </p>
        </div>
      </header>
      <div className={is_on_the_way ? "column body with-steps" : "column body"}>
        {is_on_the_way && state && <StepList state={state} place={place} />}
        <main id={place} tabIndex={-1}>
          <div role="alert">
            {is_lost && (
              <Notice kind="alert" icon="offline" title={texts.connection.lost}>
                <p>{texts.connection.explain}</p>
                <button type="button" className="plain" onClick={retryNow}>
                  {texts.connection.retry}
                </button>
              </Notice>
            )}
          </div>
          {state?.mode === "sandbox" && (
            <Notice kind="plain" icon="alert">
              <p>{texts.sandbox}</p>
            </Notice>
          )}
          <div className="card">{children}</div>
          {account && <p className="run-by">{fill(texts.footer, { account })}</p>}
        </main>
      </div>
      <p role="status" className="visually-hidden">
        {announcement}
      </p>
    </>
  );
}

/** Only complete steps are links. */
function StepList({ state, place }: { state: KycState; place: PlaceName }) {
  return (
    <nav className="steps" aria-label={texts.steps_label}>
      <ol>
        {stepsOf(state).map(({ name }) => {
          const is_here = name === place;
          const is_done = name !== "review" && missingOn(state, name).length === 0;
          const title = texts.step_names[name];
          return (
            <li key={name} className={is_here ? "here" : is_done ? "done" : ""}>
              <span className="dot">{is_done && <Icon name="check" />}</span>
              {is_done && !is_here ? (
                <a href={`#${name}`}>
                  {title}
                  <span className="visually-hidden"> ({texts.step_done})</span>
                </a>
              ) : (
                <span aria-current={is_here ? "step" : undefined}>{title}</span>
              )}
            </li>
          );
        })}
      </ol>
    </nav>
  );
}
