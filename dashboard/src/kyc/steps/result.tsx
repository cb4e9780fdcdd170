import { useEffect } from "react";
import { loadState } from "../api.ts";
import { Icon, type IconName } from "../parts/icons.tsx";
import { StepFrame } from "../parts/step-frame.tsx";
import { useSession } from "../session.ts";
import type { KycStatus } from "../state.ts";
import { fill, texts } from "../texts.ts";

/** The first checks take a moment; a manual review takes longer. */
const FIRST_PAUSE_MS = 1_000;
const PAUSE_MAX_MS = 30_000;

const words = texts.result;
const CHECKED = {
  look: "waiting",
  icon: "clock",
  title: words.checked_title,
  lead: words.checked_lead,
  next: words.checked_next,
} as const;
const FAILED = {
  look: "refused",
  icon: "cross",
  title: words.failed_title,
  lead: words.failed_lead,
  next: words.failed_next,
} as const;

type Outcome = {
  look: "waiting" | "good" | "again" | "refused";
  icon: IconName;
  title: string;
  lead: string;
  next: readonly string[];
};

const OUTCOMES: Partial<Record<KycStatus, Outcome>> = {
  pending_assessment: CHECKED,
  prechecks_completed: CHECKED,
  application_queued: CHECKED,
  awaiting_manual_review: {
    look: "waiting",
    icon: "clock",
    title: words.review_title,
    lead: words.review_lead,
    next: words.review_next,
  },
  approved: {
    look: "good",
    icon: "check",
    title: words.approved_title,
    lead: words.approved_lead,
    next: words.approved_next,
  },
  retry_required: {
    look: "again",
    icon: "alert",
    title: words.retry_title,
    lead: words.retry_lead,
    next: words.retry_next,
  },
  suspended: {
    look: "again",
    icon: "alert",
    title: words.suspended_title,
    lead: words.suspended_lead,
    next: words.suspended_next,
  },
  retry_denied: FAILED,
  failed: FAILED,
};

/** The result and what happens next; while the check runs, the page polls. */
export function Result() {
  const { state, change } = useSession();
  const account = state.account_name;
  const outcome = OUTCOMES[state.status] ?? CHECKED;
  const is_waiting = outcome.look === "waiting";

  useEffect(() => {
    if (!is_waiting) return;
    let timer = 0;
    const lookAgain = (pause_ms: number) => {
      timer = window.setTimeout(async () => {
        // If the link expires now, the shown result stays the same.
        if (!document.hidden) await change(loadState).catch(() => {});
        if (timer !== 0) lookAgain(Math.min(pause_ms * 1.5, PAUSE_MAX_MS));
      }, pause_ms);
    };
    lookAgain(FIRST_PAUSE_MS);
    return () => {
      window.clearTimeout(timer);
      timer = 0;
    };
  }, [is_waiting, change]);

  return (
    <div className={`result result-${outcome.look}`} key={outcome.title}>
      <span className="result-icon">
        <Icon name={outcome.icon} />
      </span>
      <StepFrame title={outcome.title} lead={fill(outcome.lead, { account })}>
        {state.moderation_comment && (
          <figure>
            <figcaption>{words.comment_by}</figcaption>
            <blockquote>{state.moderation_comment}</blockquote>
          </figure>
        )}
        <h2>{words.next_title}</h2>
        <ul className="next-list">
          {outcome.next.map((sentence) => (
            <li key={sentence}>{fill(sentence, { account })}</li>
          ))}
        </ul>
        {is_waiting && <p className="hint spaced">{words.waiting}</p>}
      </StepFrame>
    </div>
  );
}
