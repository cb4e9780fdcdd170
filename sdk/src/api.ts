import { attempt, type Fetch, type HttpRequest, type RequestBody } from "./attempt.ts";
import { SliproadError, toError } from "./errors.ts";
import { toHex } from "./hex.ts";
import { List } from "./list.ts";
import { withRetries } from "./retry.ts";
import type { Answer, Input, Method, PathOf, Query } from "./types.ts";

/** What may be said about a single call; all of it optional. */
export type CallOptions = {
  /** Aborts the call, its waiting included. */
  signal?: AbortSignal | undefined;
  /** For one attempt, its answer included. */
  timeout_ms?: number | undefined;
  retries_max?: number | undefined;
  /**
   * Only for POST and PATCH. Every call has a key of its own; give one to repeat a call of an
   * earlier process, for example the id of your own record.
   */
  idempotency_key?: string | undefined;
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

/** The routes of the service, typed by the document; the resources are thin layers over it. */
export class Api {
  readonly #config: ApiConfig;

  constructor(config: ApiConfig) {
    this.#config = config;
  }

  /** One call; the answer's JSON. */
  async send<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    input: Input<M, P>,
    options: CallOptions = {},
  ): Promise<Answer<M, P>> {
    const { body } = input as LooseInput;
    const makeBody = () => ({ content: JSON.stringify(body), type: "application/json" });
    const request = this.#request(method, path, input as LooseInput, options);
    if (body !== undefined) request.makeBody = makeBody;
    return this.#run(request, options, readJson<Answer<M, P>>);
  }

  /** A list whose records stand under `key`, page by page. */
  list<P extends PathOf<"get">, Key extends keyof Answer<"get", P> & string>(
    path: P,
    key: Key,
    input: Input<"get", P>,
    options: CallOptions = {},
  ): List<ItemOf<Answer<"get", P>[Key]>> {
    const { query } = input as { query?: Query<P> & { starting_after?: string } };
    const load = async (starting_after: string | undefined) => {
      const page = { ...input, query: { ...query, starting_after } } as Input<"get", P>;
      const answer: unknown = await this.send("get", path, page, options);
      const { [key]: records, has_more } = answer as Values;
      return { records: records as ItemOf<Answer<"get", P>[Key]>[], has_more: has_more === true };
    };
    return new List(load, query?.starting_after);
  }

  /** Sends a file. One that can be read only once is sent only once. */
  async upload<P extends PathOf<"post">>(
    path: P,
    input: { path: Values },
    file: { makeBody: () => RequestBody; can_repeat: boolean },
    options: CallOptions = {},
  ): Promise<Answer<"post", P>> {
    const request = { ...this.#request("post", path, input, options), makeBody: file.makeBody };
    const limits = file.can_repeat ? options : { ...options, retries_max: 0 };
    return this.#run(request, limits, readJson<Answer<"post", P>>);
  }

  /** Fetches a file; its content is read from the answer by the caller. */
  async download<P extends PathOf<"get">>(
    path: P,
    input: { path: Values },
    options: CallOptions = {},
  ): Promise<Response> {
    const request = this.#request("get", path, input, options);
    request.headers.accept = "*/*";
    const read = async (answer: Response) => (answer.ok ? answer : readRefusal(answer, null));
    return this.#run(request, options, read, true);
  }

  #request(
    method: Method,
    path: string,
    input: LooseInput,
    { idempotency_key }: CallOptions,
  ): HttpRequest {
    const { base_url, version } = this.#config;
    const headers: Record<string, string> = {
      accept: "application/json",
      "sliproad-version": version,
    };
    if (method !== "get") headers["idempotency-key"] = idempotency_key ?? makeKey();
    const url = `${base_url}${fillPath(path, input.path)}${toQuery(input.query)}`;
    return { method: method.toUpperCase(), url, headers };
  }

  #run<Result>(
    request: HttpRequest,
    options: CallOptions,
    read: (answer: Response, idempotency_key: string | null) => Promise<Result>,
    is_streamed = false,
  ): Promise<Result> {
    const { fetch, timeout_ms, retries_max, authorization } = this.#config;
    const signal = options.signal ?? null;
    const limits = { fetch, timeout_ms: options.timeout_ms ?? timeout_ms, signal };
    const key = request.headers["idempotency-key"] ?? null;
    const run = async () => {
      const headers = { ...request.headers, authorization: await authorization() };
      return attempt({ ...request, headers }, limits, (answer) => read(answer, key), is_streamed);
    };
    return withRetries(run, { retries_max: options.retries_max ?? retries_max, signal });
  }
}

type ItemOf<Items> = Items extends readonly (infer Item extends { id: string })[] ? Item : never;

async function readJson<Result>(answer: Response, key: string | null): Promise<Result> {
  if (!answer.ok) return readRefusal(answer, key);
  const text = await answer.text();
  try {
    return JSON.parse(text);
  } catch (cause) {
    const { status } = answer;
    const message = "The answer is not JSON; check baseUrl and what stands between.";
    const details = { status, cause, idempotency_key: key };
    throw new SliproadError("answer_unreadable", message, details);
  }
}

async function readRefusal(answer: Response, key: string | null): Promise<never> {
  const { status, headers } = answer;
  throw toError({ status, headers, text: await answer.text() }, key);
}

/** Random enough that no two calls of anybody's have the same. */
function makeKey(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}

function fillPath(path: string, values: Values = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    // An empty segment or dots would lead to another route than the one that was meant.
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
