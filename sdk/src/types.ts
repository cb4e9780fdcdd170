import type { components, paths } from "./openapi.ts";

// Everything here is read off the generated document: a route that changes on the server changes
// the types of its method after `npm run generate`, and nothing is typed by hand.

export type Method = "get" | "post" | "patch" | "put" | "delete";

/** The paths that have this method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never;
}[keyof paths];

/** What a successful call answers. */
export type Answer<M extends Method, P extends PathOf<M>> = paths[P][M] extends {
  responses: { 200: { content: { "application/json": infer Body } } };
}
  ? Body
  : never;

/** The JSON body that a call takes. */
export type Body<M extends Method, P extends PathOf<M>> = paths[P][M] extends {
  requestBody?: infer Request;
}
  ? JsonOf<NonNullable<Request>>
  : never;

type JsonOf<Request> = [Request] extends [never]
  ? never
  : Request extends { content: { "application/json": infer Json } }
    ? Json
    : never;

/** The query that a call takes; all of it may be left out. */
export type Query<P extends PathOf<"get">> = paths[P]["get"] extends {
  parameters: { query?: infer Parameters };
}
  ? NonNullable<Parameters>
  : never;

type PathParameters<M extends Method, P extends PathOf<M>> = paths[P][M] extends {
  parameters: { path: infer Parameters };
}
  ? Parameters
  : never;

/** A part of the input, which must be there exactly when the operation has it. */
type Part<Name extends string, Value, Absent = never> = [Value] extends [never]
  ? { [N in Name]?: Absent }
  : { [N in Name]: Value };

/** All that a call is given, as the document describes it. */
export type Input<M extends Method, P extends PathOf<M>> = Part<"path", PathParameters<M, P>> &
  Part<"body", Body<M, P>, undefined> &
  (M extends "get" ? (P extends PathOf<"get"> ? { query?: Query<P> } : unknown) : unknown);

/** A record of the API by its name in the document. */
export type Schema<Name extends string> = Name extends keyof components["schemas"]
  ? components["schemas"][Name]
  : { [field: string]: unknown };

export type ErrorBody = Schema<"Error">;
/** Every code that the service refuses with. */
export type ErrorCode = ErrorBody["error_code"];
/** One field that is at fault; `field` is a path such as `offramps[1].destination_amount`. */
export type FieldError = NonNullable<ErrorBody["errors"]>[number];
