import { useSession } from "../session.ts";
import { type PlaceName, type StepName, stepsOf } from "../step-list.ts";
import { texts } from "../texts.ts";

/** The buttons to continue and to go back. */
export function StepButtons(props: {
  step: StepName;
  is_busy: boolean;
  label?: string;
  busy_label?: string;
}) {
  const { step, is_busy, label = texts.buttons.next, busy_label = texts.buttons.saving } = props;
  const { state, is_lost, go } = useSession();
  const busy_words = is_lost ? texts.buttons.waiting : busy_label;
  const steps = stepsOf(state);
  const before = steps[steps.findIndex(({ name }) => name === step) - 1];
  const back: PlaceName = before?.name ?? "welcome";
  return (
    <div className="buttons">
      <button type="submit" className="primary" aria-disabled={is_busy}>
        {is_busy ? busy_words : label}
      </button>
      <button type="button" className="quiet" onClick={() => go(back)}>
        {texts.buttons.back}
      </button>
    </div>
  );
}
