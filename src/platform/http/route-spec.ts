import type { Readable } from "node:stream";
import type { Static, TObject, TSchema } from "typebox";
import type { Answer, CommandRequest } from "../commands/executor.ts";
import type { ErrorCode, Problem, Refusal } from "../errors.ts";
import type { Sound } from "./sound.ts";

/**
 * The caller: a program with an API key of an account, or with a token of an application, or a
 * member who is signed in.
 */
export type Caller = {
  account_id: string;
  /** Of the key, token or session: checked again in the transaction of every write. */
  credential_id: string;
  key_label: string;
  /** The application that owns the token; absent for an API key. */
  app_id?: string;
  /** The person who authorized the application, if one did. */
  person_id?: string;
  /** The scopes of the token; absent for an API key. */
  scopes?: readonly string[];
  /** The signed-in member; absent for a program. */
  actor?: `member:${string}`;
  /**
   * Why this API key or member may not send such a request; absent for a token. `ip` is null where
   * the request was accepted, and does something that another operation stands for.
   */
  refuse?: (request: { operation: string; ip: string | null }) => Refusal | null;
  /**
   * Of a member: refuses when the session has ended or lost its role since the request began.
   * Called when the whole body has arrived: who sends it decides when that is.
   */
  assertActive?: () => Promise<unknown>;
};

export type RouteSpec<Path extends string, Query extends TObject, Body extends TObject> = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path with parameters such as `:user_id`; every parameter is a record's id. */
  path: Path;
  operation: string;
  summary: string;
  description: string;
  tag: string;
  query?: Query;
  body?: Body;
  body_example?: Static<Body>;
  answer: TSchema;
  /** The codes this route may answer besides those of every route. */
  errors: readonly ErrorCode[];
  /** Another accepted form of ids in the path, for records that have a second name. */
  id_form?: RegExp;
  body_bytes_max?: number;
  /** The scope a token needs here; without it the route accepts API keys only. */
  scope?: string;
  /** For the dashboard alone: it accepts no keys and tokens, and the API document leaves it out. */
  members_only?: boolean;
  /** True for a write that is not a command; its answer is stored for replay as well. */
  stores_nothing?: boolean;
  /** The media types of the answer, when it is a file instead of JSON. */
  file_types?: readonly string[];
  handle: (request: ApiRequest<Path, Static<Query>, Static<Body>>) => Promise<RouteAnswer>;
};

/** A body is documented with an example. */
export type WithExample<Body extends TObject> =
  | { body: Body; body_example: Static<Body> }
  | { body?: undefined };

/** The parameters of a path: `/users/:user_id` has `{ user_id: string }`. */
export type PathParams<Path extends string> = Readonly<Record<ParamName<Path>, string>>;
type ParamName<Path extends string> = Path extends `${infer Head}/${infer Tail}`
  ? ParamName<Head> | ParamName<Tail>
  : Path extends `:${infer Name}`
    ? Name
    : never;

/** The same parameters, each changed. */
export function mapParams<Params extends Readonly<Record<string, string>>>(
  params: Params,
  change: (id: string) => string,
): Params {
  const changed = Object.entries(params).map(([name, id]) => [name, change(id)]);
  return Object.fromEntries(changed);
}

/** A rendered body, the outcome of a command, or a file to be downloaded. */
export type RouteAnswer = string | Answer | FileAnswer;
export type FileAnswer = { file: Readable; media_type: string; file_name: string };

type ApiRequest<Path extends string, Query, Body> = {
  caller: Caller;
  params: PathParams<Path>;
  query: Sound<Query>;
  /** The parts that passed the schema; everything else is among the problems. */
  body: Sound<Body>;
  /** What the schemas found wrong; the use case adds to it and refuses all at once. */
  problems: Problem[];
  /** Wraps an input as the command of this request, with its Idempotency-Key. */
  command: <Input>(input: Input) => CommandRequest<Input>;
  /** A signal that fires when the caller disconnects: for work that is then unnecessary. */
  watchCaller: () => AbortSignal;
};
