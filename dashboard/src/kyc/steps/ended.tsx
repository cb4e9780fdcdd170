import { useEffect, useRef } from "react";
import { Refusal } from "../api.ts";
import { Icon } from "../parts/icons.tsx";
import { texts } from "../texts.ts";

/** Shown when the link has expired, is unknown, or the server failed, with what to do. */
export function Ended({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  const status = error instanceof Refusal ? error.status : 500;
  const is_over = status === 404 || status === 410;
  const [title, text] = wordsOf(status, error instanceof Refusal ? error.message : "");

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
      {!is_over && (
        <div className="buttons">
          <button type="button" className="primary" onClick={onRetry}>
            {texts.buttons.try_again}
          </button>
        </div>
      )}
    </div>
  );
}

function wordsOf(status: number, message: string): [title: string, text: string] {
  const words = texts.ended;
  // The server knows whether the link expired or was replaced.
  if (status === 410) return [words.expired_title, message || words.expired];
  if (status === 404) return [words.unknown_title, words.unknown];
  if (status === 429) return [words.busy_title, words.busy];
  return [words.broken_title, words.broken];
}
