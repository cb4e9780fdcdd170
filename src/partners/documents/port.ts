import type { Readable } from "node:stream";

type DocumentRequest = {
  account_id: string;
  url: string;
  bytes_max: number;
  /** Reads the document to its end; `fetch` rethrows its errors. */
  take: (body: Readable, media_type: string) => Promise<void>;
};

/** Why there is no document, as the end of a sentence; a final reason will not change. */
export type DocumentFailure = { failure: string; is_final: boolean };

/** Fetches a document from the URL that a caller sent. */
export type DocumentSource = {
  /** Why nothing could ever be fetched from a URL, judging by its text; null if it could. */
  refuse(url: string): string | null;
  /** Null if the document was fetched. */
  fetch(request: DocumentRequest): Promise<DocumentFailure | null>;
};
