import {
  attempt,
  attemptFile,
  type Fetch,
  type HttpLimits,
  type HttpRequest,
  type RequestBody,
  type WholeAnswer,
} from "./attempt.ts";
import { type DownloadedFile, toDownloadedFile } from "./download.ts";
import { SliproadError, toError } from "./errors.ts";
import { toHex } from "./hex.ts";
import { checkRetries, checkTimeout } from "./limit.ts";
import { List } from "./list.ts";
import { withRetries } from "./retry.ts";
import type { Answer, Input, Method, PathOf, Query } from "./types.ts";

/** Options of a single call; all optional. */
export type CallOptions = {
  /** Aborts the call, including its waits. */
  signal?: AbortSignal | undefined;
  /** For one attempt, including its response; Infinity for no limit. */
  timeout_ms?: number | undefined;
  retries_max?: number | undefined;
  /**
   * Only for POST and PATCH. Every call has its own key; pass one to repeat a call of an earlier
   * process, for example the id of your own record.
   */
  idempotency_key?: string | undefined;
};

/** Options of an act that the audit log keeps. */
export type ActOptions = CallOptions & {
  /** Why; without personal data. */
  reason?: string | undefined;
};

export type ApiConfig = {
  base_url: string;
  authorization: () => Promise<string>;
  version: string;
  fetch: Fetch;
  timeout_ms: number;
  retries_max: number;
};

type Values = { [name: string]: unknown };
type LooseInput = { path?: Values; query?: Values; body?: unknown };

/**
 * The routes of the service, typed by the OpenAPI document; the resources are thin layers over it.
 */
export class Api {
  readonly #config: ApiConfig;

  constructor(config: ApiConfig) {
    this.#config = config;
  }

  /** Makes one call; returns the JSON of the response. */
  async send<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    input: Input<M, P>,
    options: CallOptions = {},
  ): Promise<Answer<M, P>> {
    return this.#sendAndRead(method, path, input, options, (answer) => answer);
  }

  /** Makes one call; returns the record that the response has under `key`. */
  async sendFor<M extends Method, P extends PathOf<M>, Key extends KeyOf<Answer<M, P>>>(
    key: Key,
    method: M,
    path: P,
    input: Input<M, P>,
    options: CallOptions = {},
  ): Promise<NonNullable<Answer<M, P>[Key]>> {
    return this.#sendAndRead(method, path, input, options, (answer, details) => {
      const record = answer[key];
      if (typeof record === "object" && record !== null) return record;
      throw unexpected(`has no ${key}`, details);
    });
  }

  /** A list whose records are under `key`, page by page. */
  list<P extends PathOf<"get">, Key extends KeyOf<Answer<"get", P>>>(
    path: P,
    key: Key,
    input: Input<"get", P>,
    options: CallOptions = {},
  ): List<ItemOf<Answer<"get", P>[Key]>> {
    const { query } = input as { query?: Query<P> & { starting_after?: string } };
    const load = async (starting_after: string | undefined) => {
      const page = { ...input, query: { ...query, starting_after } } as Input<"get", P>;
      return this.#sendAndRead("get", path, page, options, (answer, details) => {
        const { [key]: records, has_more } = answer as Values;
        // The next page begins after the last id: without ids the list would never end.
        if (!Array.isArray(records) || !records.every(hasId)) {
          throw unexpected(`has no ${key}`, details);
        }
        return { records: records as ItemOf<Answer<"get", P>[Key]>[], has_more: has_more === true };
      });
    };
    return new List(load, query?.starting_after);
  }

  /** Sends a file. A source that can be read only once is sent only once. */
  async upload<P extends PathOf<"post">>(
    path: P,
    input: { path: Values },
    file: { makeBody: () => RequestBody; can_repeat: boolean },
    options: CallOptions = {},
  ): Promise<Answer<"post", P>> {
    const request = { ...this.#request("post", path, input, options), makeBody: file.makeBody };
    const limits = file.can_repeat ? options : { ...options, retries_max: 0 };
    return this.#run(request, limits, attempt, readJson<Answer<"post", P>>);
  }

  /** Fetches a file; the caller reads its content. */
  async download<P extends PathOf<"get">>(
    path: P,
    input: { path: Values },
    options: CallOptions = {},
  ): Promise<DownloadedFile> {
    const request = this.#request("get", path, input, options);
    request.headers.accept = "*/*";
    return this.#run(request, options, attemptFile, (answer) => {
      if ("stream" in answer) return toDownloadedFile(answer);
      throw toError(answer, null);
    });
  }

  #sendAndRead<M extends Method, P extends PathOf<M>, Result>(
    method: M,
    path: P,
    input: Input<M, P>,
    options: CallOptions,
    read: (answer: Answer<M, P>, details: AnswerDetails) => Result,
  ): Promise<Result> {
    const { body } = input as LooseInput;
    const makeBody = () => ({ content: JSON.stringify(body), type: "application/json" });
    const request = this.#request(method, path, input as LooseInput, options);
    if (body !== undefined) request.makeBody = makeBody;
    return this.#run(request, options, attempt, (answer, key) =>
      read(readJson<Answer<M, P>>(answer, key), detailsOf(answer, key)),
    );
  }

  #request(
    method: Method,
    path: string,
    input: LooseInput,
    { idempotency_key }: CallOptions,
  ): HttpRequest {
    const { base_url, version, authorization } = this.#config;
    const headers: Record<string, string> = {
      accept: "application/json",
      "sliproad-version": version,
    };
    if (method !== "get") headers["idempotency-key"] = checkKey(idempotency_key ?? makeKey());
    const url = `${base_url}${fillPath(path, input.path)}${toQuery(input.query)}`;
    return { method: method.toUpperCase(), url, headers, authorize: authorization };
  }

  /** The response is interpreted after the attempt: an error in it is not a network error. */
  async #run<Arrived, Result>(
    request: HttpRequest,
    options: CallOptions,
    attemptOnce: (request: HttpRequest, limits: HttpLimits) => Promise<Arrived>,
    read: (answer: Arrived, idempotency_key: string | null) => Result,
  ): Promise<Result> {
    const { fetch } = this.#config;
    const timeout_ms = checkTimeout(options.timeout_ms ?? this.#config.timeout_ms);
    const retries_max = checkRetries(options.retries_max ?? this.#config.retries_max);
    const signal = options.signal ?? null;
    const key = request.headers["idempotency-key"] ?? null;
    const run = async () => read(await attemptOnce(request, { fetch, timeout_ms, signal }), key);
    return withRetries(run, { retries_max, signal });
  }
}

type KeyOf<Whole> = keyof Whole & string;
type ItemOf<Items> = Items extends readonly (infer Item extends { id: string })[] ? Item : never;

function readJson<Result>(answer: WholeAnswer, key: string | null): Result {
  if (!answer.ok) throw toError(answer, key);
  let value: unknown;
  try {
    value = JSON.parse(answer.text);
  } catch (cause) {
    throw unexpected("is not JSON", { ...detailsOf(answer, key), cause });
  }
  const is_record = typeof value === "object" && value !== null && !Array.isArray(value);
  if (is_record && Object.keys(value as object).length > 0) return value as Result;
  throw unexpected("holds nothing", detailsOf(answer, key));
}

type AnswerDetails = { status: number; request_id: string | null; idempotency_key: string | null };

function detailsOf(
  { status, headers }: WholeAnswer,
  idempotency_key: string | null,
): AnswerDetails {
  return { status, request_id: headers.get("x-request-id"), idempotency_key };
}

/** A 2xx response that is not from the service. */
function unexpected(what: string, details: AnswerDetails & { cause?: unknown }): SliproadError {
  const message = `The answer ${what}; check baseUrl and any proxy in between.`;
  return new SliproadError("answer_unreadable", message, details);
}

function hasId(record: { id?: unknown } | null): boolean {
  return typeof record?.id === "string";
}

/** Leading and trailing spaces would be lost in transit. */
const IDEMPOTENCY_KEY = /^(?! )[\x20-\x7e]{1,255}(?<! )$/;

function checkKey(key: string): string {
  if (typeof key === "string" && IDEMPOTENCY_KEY.test(key)) return key;
  throw new TypeError("idempotency_key must be 1 to 255 printable ASCII characters.");
}

/** Random enough to be unique across all callers. */
function makeKey(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}

function fillPath(path: string, values: Values = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    // An empty segment or dots would lead to a different route.
    if (typeof value !== "string" || /^\.{0,2}$/.test(value)) {
      throw new TypeError(`${name} must be an id, not ${JSON.stringify(value)}.`);
    }
    return encodeURIComponent(value);
  });
}

function toQuery(query: Values = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== null) parameters.append(name, String(item));
    }
  }
  const text = parameters.toString();
  return text && `?${text}`;
}
