import type { FileSlotName, KycState } from "./state.ts";

/** The server refused the request. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  /** The problem of each field or file, by its bare name (`postcode`, `document_front`). */
  readonly problems: Readonly<Record<string, Problem>>;

  constructor(status: number, body: RefusalBody) {
    super(body.message ?? "");
    this.status = status;
    this.code = body.error_code ?? "unknown";
    this.problems = Object.fromEntries(
      (body.errors ?? []).map(({ field, code, message }) => [bareName(field), { code, message }]),
    );
  }

  /** The link has ended, or nothing can be changed any more; no field is at fault. */
  get is_final(): boolean {
    return this.status === 410 || this.code === "invalid_transition";
  }
}

/** No response, or one that says "later": the same request may be sent again. */
export class ConnectionLost extends Error {}

export type Problem = { code: string; message: string };

type RefusalBody = {
  error_code?: string;
  message?: string;
  errors?: { field: string; code: string; message: string }[];
};

const ANSWER_WITHIN_MS = 30_000;
const UPLOAD_WITHIN_MS = 5 * 60_000;
/** The server is restarting, or a proxy cannot reach it. */
const TRY_LATER = [502, 503, 504];
/** Another site's form cannot send this header, so it cannot act for the user. */
const OWN_HEADER = { "X-Kyc-Page": "1" };

const token = location.pathname.split("/")[2] ?? "";
/** The link of this page: another may be open in the same browser. */
let link_id = "";

/** Exchanges the link's token for a session cookie, which all other requests need. */
export async function openSession(): Promise<KycState> {
  const state = await send("POST", `/kyc/${encodeURIComponent(token)}/session`);
  link_id = state.link_id;
  return state;
}

export function loadState(): Promise<KycState> {
  return inSession("GET", "/kyc/session");
}

export function confirmBirthDate(date_of_birth: string): Promise<KycState> {
  return inSession("POST", "/kyc/session/confirm", { date_of_birth });
}

export function saveIdentity(identity: Record<string, string | null>): Promise<KycState> {
  return inSession("PATCH", "/kyc/session/identity", { identity });
}

export function deleteFile(slot: FileSlotName): Promise<KycState> {
  return inSession("DELETE", `/kyc/session/files/${slot}`);
}

export function submit(): Promise<KycState> {
  return inSession("POST", "/kyc/session/submit");
}

/** The upload time is part of the URL, so that a replaced file is not taken from the cache. */
export function fileUrl(slot: FileSlotName, uploaded_at: string): string {
  const query = new URLSearchParams({ link: link_id, sent: uploaded_at });
  return `/kyc/session/files/${slot}?${query}`;
}

/** With XMLHttpRequest, because fetch does not report upload progress. */
export function uploadFile(
  slot: FileSlotName,
  file: Blob,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<KycState> {
  const attempt = () => uploadOnce(slot, file, onProgress, signal);
  return attempt().catch((error) => reopenAndRetry(error, attempt));
}

function uploadOnce(
  slot: FileSlotName,
  file: Blob,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<KycState> {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    const body = new FormData();
    body.append("file", file, slot);
    const stop = () => request.abort();
    const settle = (finish: () => void) => () => {
      signal.removeEventListener("abort", stop);
      finish();
    };
    request.open("PUT", `/kyc/session/files/${slot}`);
    request.setRequestHeader("X-Kyc-Page", "1");
    request.setRequestHeader("X-Kyc-Link", link_id);
    request.timeout = UPLOAD_WITHIN_MS;
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) onProgress(event.loaded / event.total);
    };
    request.onload = settle(() => {
      try {
        done(read(request.status, request.responseText));
      } catch (error) {
        fail(error);
      }
    });
    request.onerror = settle(() => fail(new ConnectionLost()));
    request.ontimeout = request.onerror;
    request.onabort = settle(() => fail(new DOMException("Cancelled", "AbortError")));
    signal.addEventListener("abort", stop);
    signal.throwIfAborted();
    request.send(body);
  });
}

function inSession(method: string, path: string, body?: unknown): Promise<KycState> {
  const attempt = () => send(method, path, body);
  return attempt().catch((error) => reopenAndRetry(error, attempt));
}

/** A browser may drop the cookie of a page that stays open; the link gets a new one. */
async function reopenAndRetry(error: unknown, attempt: () => Promise<KycState>) {
  if (!(error instanceof Refusal && error.status === 401)) throw error;
  await openSession();
  return attempt();
}

async function send(method: string, path: string, body?: unknown): Promise<KycState> {
  // Manually: browsers of 2022 have no AbortSignal.timeout.
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), ANSWER_WITHIN_MS);
  let answer: Response;
  let text: string;
  try {
    answer = await fetch(path, {
      method,
      headers: {
        Accept: "application/json",
        ...(method === "GET" ? {} : OWN_HEADER),
        ...(link_id === "" ? {} : { "X-Kyc-Link": link_id }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      cache: "no-store",
      signal: controller.signal,
    });
    text = await answer.text();
  } catch {
    throw new ConnectionLost();
  } finally {
    clearTimeout(timer);
  }
  return read(answer.status, text);
}

function read(status: number, text: string): KycState {
  if (TRY_LATER.includes(status)) throw new ConnectionLost();
  let body: unknown = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Something other than the server answered, such as a hotel's sign-in page.
    if (status < 400) throw new ConnectionLost();
  }
  if (status >= 400) throw new Refusal(status, (body ?? {}) as RefusalBody);
  return (body as { kyc: KycState }).kyc;
}

function bareName(field: string): string {
  return field.split(".").at(-1) ?? field;
}
