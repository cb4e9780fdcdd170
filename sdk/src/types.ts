import type { components, paths } from "./openapi.ts";

// All types are derived from the generated document: a route that changes on the server changes the
// types of its method after `npm run generate`, and nothing is typed manually.

export type Method = "get" | "post" | "patch" | "put" | "delete";

/** The paths that have this method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never;
}[keyof paths];

/** The result of a successful call. */
export type Answer<M extends Method, P extends PathOf<M>> = paths[P][M] extends {
  responses: { 200: { content: { "application/json": infer Body } } };
}
  ? Body
  : never;

/** The JSON body of a call. */
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

/** The query of a call; all of it is optional. */
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

/** A part of the input, required exactly when the operation has it. */
type Part<Name extends string, Value, Absent = never> = [Value] extends [never]
  ? { [N in Name]?: Absent }
  : { [N in Name]: Value };

/** The whole input of a call, as the document describes it. */
export type Input<M extends Method, P extends PathOf<M>> = Part<"path", PathParameters<M, P>> &
  Part<"body", Body<M, P>, undefined> &
  (M extends "get" ? (P extends PathOf<"get"> ? { query?: Query<P> } : unknown) : unknown);

/** A record of the API by its name in the document. */
export type Schema<Name extends string> = Name extends keyof components["schemas"]
  ? components["schemas"][Name]
  : { [field: string]: unknown };

export type ErrorBody = Schema<"Error">;
/** Every error code of the service. */
export type ErrorCode = ErrorBody["error_code"];
/** An invalid field; `field` is a path such as `offramps[1].destination_amount`. */
export type FieldError = NonNullable<ErrorBody["errors"]>[number];
