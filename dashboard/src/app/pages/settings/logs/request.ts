import { ask } from "../../../api.ts";

/** A request to the API and its answer; neither body is kept. */
export type LoggedRequest = {
  /** The answer's `X-Request-Id`. */
  id: string;
  at: string;
  actor: string;
  method: string;
  path: string;
  status: number;
  error_code: string | null;
  problems: [field: string, code: string][];
  duration_ms: number;
};

export type Names = Readonly<Record<string, string>>;

type RequestPage = {
  requests: LoggedRequest[];
  names: Names;
  /** Of the last 24 hours, the most frequent first. */
  refusals: { error_code: string; count: number }[];
  /** For how many days requests are kept. */
  days: number;
  has_more: boolean;
};

export type RequestFilters = {
  refused?: string | undefined;
  error_code?: string | undefined;
  actor?: string | undefined;
};

export function loadRequests(
  filters: RequestFilters,
  starting_after?: string,
): Promise<RequestPage> {
  return ask<RequestPage>("/requests", { ...filters, starting_after, limit: "50" });
}

export function loadRequest(id: string): Promise<{ request: LoggedRequest; names: Names }> {
  return ask(`/requests/${id}`);
}

/** The page that shows the record a request was about, if there is one. */
export function pageOfRecord(path: string): { name: string; path: string } | null {
  for (const [pattern, name, page] of RECORDS) {
    const id = pattern.exec(path)?.[1];
    if (id) return { name, path: `${page}/${id}` };
  }
  return null;
}

/** The most exact first: a payout's path begins with its user and quote. */
const RECORDS: readonly (readonly [pattern: RegExp, name: string, page: string])[] = [
  [/\/offramps\/([0-9a-f-]{36})/, "Payout", "/payouts"],
  [/\/quotes\/([0-9a-f-]{36})/, "Quote", "/quotes"],
  [/\/onramps\/([0-9a-f-]{36})/, "Deposit", "/deposits"],
  [/\/invoices\/([0-9a-f-]{36})/, "Invoice", "/invoices"],
  [/\/apps\/([0-9a-f-]{36})/, "App", "/settings/developer/apps"],
  [/\/users\/([0-9a-f-]{36})/, "Person", "/people"],
];
