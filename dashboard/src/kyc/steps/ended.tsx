import { useEffect, useRef } from "react";
import { Refusal } from "../api.ts";
import { Icon } from "../parts/icons.tsx";
import { texts } from "../texts.ts";

/** The link no longer works, never did, or we failed: said plainly, with what to do. */
export function Ended({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const words = texts.ended;
  const status = error instanceof Refusal ? error.status : 500;
  const is_over = status === 410 || status === 404;
  const [title, text] =
    status === 410
      ? [words.expired_title, words.expired]
      : status === 404
        ? [words.unknown_title, words.unknown]
        : status === 429
          ? [words.busy_title, words.busy]
          : [words.broken_title, words.broken];

  useEffect(() => {
    document.title = `${title} · ${texts.page_title}`;
    heading.current?.focus();
  }, [title]);

  return (
    <div className="result result-again">
      <span className="result-icon">
        <Icon name="alert" />
      </span>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      <p className="lead">{text}</p>
      {is_over ? (
        <p>{words.next}</p>
      ) : (
        <div className="buttons">
          <button type="button" className="primary" onClick={onRetry}>
            {texts.buttons.try_again}
          </button>
        </div>
      )}
    </div>
  );
}
