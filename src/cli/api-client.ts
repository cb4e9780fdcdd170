import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { readConfig } from "../platform/config/config.ts";
import { MINUTE_MS } from "../platform/durations.ts";
import { readDeadService, readInstance } from "../platform/instance.ts";
import { StartupError } from "../platform/startup-error.ts";

export type ApiOptions = { url?: string; key?: string };

/** The service as any other HTTP client sees it. */
export type ApiClient = {
  url: string;
  send(method: string, path: string, body?: unknown): Promise<void>;
  /** What `pick` finds in the response; if it finds nothing, the response is not from Sliproad. */
  ask<Value>(
    pick: (answer: Answer) => Value,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Value>;
};

// biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the server sent.
type Answer = any;

type CallLimits = { signal?: AbortSignal; answer_max_ms?: number };

/** A call that failed or was refused. */
export class ApiError extends StartupError {
  readonly code: string;
  /** When to retry; null where the same answer would follow. */
  readonly retry_after_ms: number | null;

  constructor(message: string, code: string, retry_after_ms: number | null = null) {
    super(message);
    this.code = code;
    this.retry_after_ms = retry_after_ms;
  }
}

/** No response, or none that can be parsed; this may be temporary. */
export class UnreachableError extends ApiError {
  /** The message without the advice on what to do. */
  readonly what: string;

  constructor(what: string, code: string, advice: string) {
    super(`${what}; ${advice}`, code);
    this.what = what;
  }
}

const ANSWER_MAX_MS = 30_000;
/** What a header may contain; keys use a subset. */
const KEY = /^[\x21-\x7e]+$/;
const RETRY_STATUSES = [429, 502, 503, 504];
const RETRY_AFTER_STANDARD_MS = 1_000;
const RETRY_AFTER_MAX_MS = MINUTE_MS;

export function withApiOptions(command: Command): Command {
  return command
    .option("--url <url>", "the URL of the service (default: the running one)")
    .option("--key <key>", "an API key (default: SLIPROAD_API_KEY, or the key of the sandbox)");
}

export async function openApiClient(
  options: ApiOptions,
  { signal, answer_max_ms = ANSWER_MAX_MS }: CallLimits = {},
): Promise<ApiClient> {
  const url = await findServiceUrl(options);
  const key = await findApiKey(options);
  const ask: ApiClient["ask"] = async (pick, method, path, body) => {
    const late = AbortSignal.timeout(answer_max_ms);
    const init = {
      ...toInit(method, key, body),
      signal: signal ? AbortSignal.any([signal, late]) : late,
    };
    const answer = await fetch(`${url}${path}`, init).catch(() => null);
    const answered = (await answer?.json().catch(() => null)) as Answer;
    if (late.aborted && !answered) throw tooLate(url, answer_max_ms);
    if (!answer) throw unreachable(url);
    if (!answer.ok) throw refusalOf(`${method} ${path}`, answer, answered);
    const value = pickFrom(answered, pick);
    if (value === undefined) throw unreadable(url, `${method} ${path}`);
    return value;
  };
  return {
    url,
    ask,
    send: async (method, path, body) => {
      await ask((answered) => Object.keys(answered), method, path, body);
    },
  };
}

function toInit(method: string, key: string, body: unknown) {
  const authorization = `Bearer ${key}`;
  if (body === undefined) return { method, headers: { authorization } };
  const headers = { authorization, "content-type": "application/json" };
  return { method, headers, body: JSON.stringify(body) };
}

/** Undefined also where an object on the way is missing. */
function pickFrom<Value>(answered: Answer, pick: (answer: Answer) => Value): Value | undefined {
  try {
    return pick(answered);
  } catch {
    return undefined;
  }
}

function unreachable(url: string): UnreachableError {
  const advice = "start the service with sliproad start, or set its URL with --url.";
  return new UnreachableError(`Nothing answers at ${url}`, "unreachable", advice);
}

function tooLate(url: string, answer_max_ms: number): UnreachableError {
  const what = `${url} did not send a complete response within ${answer_max_ms / 1000} s`;
  return new UnreachableError(what, "timed_out", "see the service's log, or try again.");
}

function unreadable(url: string, request: string): UnreachableError {
  const what = `${request}: the response of ${url} cannot be read`;
  const advice = "check that Sliproad runs there, or set its URL with --url.";
  return new UnreachableError(what, "unreadable_answer", advice);
}

function refusalOf(request: string, answer: Response, body: ErrorBody | null): ApiError {
  const message = `${request}: ${whyRefused(answer.status, body)}`;
  return new ApiError(message, body?.error_code ?? "refused", retryAfter(answer));
}

type ErrorBody = {
  error_code?: string;
  message?: string;
  errors?: { field: string; message: string }[];
};

function retryAfter({ status, headers }: Response): number | null {
  if (!RETRY_STATUSES.includes(status)) return null;
  const wanted_ms = readRetryAfter(headers.get("retry-after") ?? "");
  return Math.min(Math.max(wanted_ms, RETRY_AFTER_STANDARD_MS), RETRY_AFTER_MAX_MS);
}

/** Seconds, or a date; 0 where it is neither. */
function readRetryAfter(text: string): number {
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? 0 : ms;
}

function whyRefused(status: number, body: ErrorBody | null): string {
  const fields = body?.errors?.map(({ field, message }) => `${field}: ${message}`) ?? [];
  // The top-level message is that of the first field.
  return fields.length > 0 ? fields.join(" ") : (body?.message ?? `answered ${status}.`);
}

/** As requested, else where the service of this data directory runs, last ran or would run. */
export async function findServiceUrl(options: ApiOptions): Promise<string> {
  const config = readConfig(process.env);
  if (options.url !== undefined && !/^https?:$/.test(URL.parse(options.url)?.protocol ?? "")) {
    throw new StartupError("--url must be a URL such as http://127.0.0.1:4000.");
  }
  const instance =
    (await readInstance(config.data_dir).catch(() => null)) ??
    (await readDeadService(config.data_dir));
  const standard = config.public_url || `http://${config.host}:${config.port}`;
  let url = options.url ?? (instance?.public_url || standard);
  while (url.endsWith("/")) url = url.slice(0, -1);
  return url;
}

export async function findApiKey(options: ApiOptions): Promise<string> {
  const config = readConfig(process.env);
  const given = options.key ?? config.api_key;
  if (given !== undefined) return checkKey(given);
  const file = join(config.data_dir, "sandbox-api-key");
  const text = await readFile(file, "utf8").catch(() => {
    throw new StartupError(
      `No API key was found in ${config.data_dir}; start the service there with sliproad start, ` +
        "or pass a key with --key or SLIPROAD_API_KEY.",
    );
  });
  return checkKey(text.trim());
}

function checkKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new StartupError(
    "The API key is empty or has invalid characters; pass a complete one with --key or " +
      "SLIPROAD_API_KEY.",
  );
}
