import type { Readable } from "node:stream";

type DocumentRequest = {
  account_id: string;
  url: string;
  bytes_max: number;
  /** Reads the document to its end; what it throws is thrown by `fetch`. */
  take: (body: Readable, media_type: string) => Promise<void>;
};

/** Why there was nothing to take, as the end of a sentence; a final reason will not change. */
export type DocumentFailure = { failure: string; is_final: boolean };

/** Where the bytes of a document come from that a caller named by its URL. */
export type DocumentSource = {
  /** Why nothing would ever be fetched from a URL, as far as its text tells; null if it may be. */
  refuse(url: string): string | null;
  /** Null once the document was taken. */
  fetch(request: DocumentRequest): Promise<DocumentFailure | null>;
};
