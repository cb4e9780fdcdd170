import type { ServerResponse } from "node:http";

type EventStream = {
  /** Nothing after the end. */
  tell(text: string): void;
  end(): void;
};

/**
 * Writes server-sent events to an answer. A client that does not read keeps it open after its end:
 * what is written then is an error, and an error that nobody hears ends the process.
 */
export function openEventStream(raw: ServerResponse): EventStream {
  raw.on("error", () => {});
  return {
    tell: (text) => {
      if (!raw.writableEnded) raw.write(text);
    },
    end: () => {
      if (!raw.writableEnded) raw.end();
    },
  };
}
