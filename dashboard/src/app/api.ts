import { Sliproad, SliproadError } from "@sliproad/sdk";
import { QueryClient } from "@tanstack/react-query";
import { session } from "./session.ts";

/** The API as the signed-in member: the cookie says who, the header that this page asks. */
export const api = new Sliproad({
  baseUrl: location.origin,
  accessToken: "cookie",
  fetch: sendAsMember,
  retries_max: 1,
});

const FRESH_MS = 10_000;

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) => failures < 2 && isTemporary(error),
    },
  },
});

/** Asks the person to confirm; false when they did not. Set by the dialog that does it. */
type AskToConfirm = () => Promise<boolean>;
let askToConfirm: AskToConfirm = async () => false;

export function onConfirmationNeeded(ask: AskToConfirm): void {
  askToConfirm = ask;
}

/** A request for data that only the dashboard needs. */
export async function ask<Answer>(
  path: string,
  query: Record<string, string | undefined> = {},
): Promise<Answer> {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []));
  const answer = await sendAsMember(`/dashboard/api${path}?${new URLSearchParams(given)}`, {});
  return readAnswer<Answer>(answer);
}

/** A file that only the dashboard shows. */
export async function load(path: string): Promise<Blob> {
  const answer = await sendAsMember(`/dashboard/api${path}`, {});
  return answer.ok ? answer.blob() : readAnswer<Blob>(answer);
}

/** A change that only the dashboard makes. */
export async function tell<Answer>(
  path: string,
  body: unknown,
  method: "POST" | "PATCH" | "DELETE" = "POST",
  idempotency_key?: string,
): Promise<Answer> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (idempotency_key !== undefined) headers["idempotency-key"] = idempotency_key;
  const answer = await sendAsMember(`/dashboard/api${path}`, {
    method,
    headers,
    body: JSON.stringify(body),
  });
  return readAnswer<Answer>(answer);
}

/** What went wrong, for a person. */
export function messageOf(error: unknown): string {
  if (error instanceof Failure) return error.message;
  if (!(error instanceof SliproadError)) return "This did not work. Try again.";
  const [problem] = error.errors;
  return problem && error.errors.length === 1 ? problem.message : error.message;
}

class Failure extends Error {
  readonly request_id: string | null;
  constructor(message: string, request_id: string | null) {
    super(message);
    this.request_id = request_id;
  }
}

async function readAnswer<Answer>(answer: Response): Promise<Answer> {
  const body = await answer.json();
  if (answer.ok) return body as Answer;
  const message = body.errors?.[0]?.message ?? body.message ?? "This did not work. Try again.";
  throw new Failure(message, body.request_id ?? null);
}

async function sendAsMember(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const answer = await sendOnce(input, init);
  if (answer.status === 401) leaveToSignIn();
  if (answer.status !== 403) return answer;
  const { error_code } = await answer.clone().json();
  if (error_code !== "confirmation_required" || !(await askToConfirm())) return answer;
  return sendOnce(input, init);
}

function sendOnce(input: RequestInfo | URL, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.delete("authorization");
  headers.set("x-csrf-token", session.csrf);
  return fetch(input, { ...init, headers, credentials: "same-origin" });
}

function leaveToSignIn(): void {
  const next = encodeURIComponent(location.pathname + location.search);
  location.assign(`/sign-in?next=${next}`);
}

function isTemporary(error: unknown): boolean {
  if (!(error instanceof SliproadError)) return false;
  return error.status === null || error.status >= 500;
}
