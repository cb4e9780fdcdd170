import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { TObject } from "typebox";
import type { KeepAnswer } from "../commands/keep-answers.ts";
import type { Idempotency } from "../commands/use-case.ts";
import { keyedHash } from "../encryption/cipher.ts";
import type { Problem } from "../errors.ts";
import { FIRST_ID, isId } from "../ids.ts";
import { letOthersRun } from "../let-others-run.ts";
import { closedObject } from "../schema-parts.ts";
import { FILE_TURNS, type ReadTurns } from "./account-turns.ts";
import { addPreflight } from "./cors.ts";
import { describeRoute } from "./describe-route.ts";
import { canonicalJson, type JsonBody } from "./json-body.ts";
import {
  type Caller,
  type FileAnswer,
  mapParams,
  type PathParams,
  type RouteAnswer,
  type RouteSpec,
  type WithExample,
} from "./route-spec.ts";
import { FILE_POLICY } from "./security-headers.ts";
import { traceOf } from "./trace-context.ts";
import { compileCheck } from "./validate.ts";

export type { Caller, PathParams, RouteSpec };

const NOTHING = closedObject({});
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/** The function that a module adds its routes with. */
export type AddRoute = <
  const Path extends string,
  Query extends TObject = typeof NOTHING,
  Body extends TObject = typeof NOTHING,
>(
  spec: RouteSpec<Path, Query, Body> & WithExample<Body>,
) => void;

/** Registers an API route: authenticated, validated by the schemas it is documented with. */
export function addRoute<Path extends string, Query extends TObject, Body extends TObject>(
  app: FastifyInstance,
  index_key: Buffer,
  spec: RouteSpec<Path, Query, Body>,
  { keepAnswer, readInTurn }: { keepAnswer?: KeepAnswer; readInTurn?: ReadTurns } = {},
): void {
  // A route without a query or a body accepts none, or an empty object.
  const checkQuery = compileCheck((spec.query ?? NOTHING) as Query, "query");
  const body_schema = (spec.body ?? NOTHING) as Body;
  const checkBody = compileCheck(body_schema, spec.members_only ? "form" : "body");
  // A body without required fields may be omitted.
  const required: readonly string[] = body_schema.required ?? [];
  const may_lack_body = required.length === 0;
  if (spec.scope) addPreflight(app, spec.path);
  app.route({
    method: spec.method,
    url: spec.path,
    schema: spec.members_only ? { hide: true } : describeRoute(app, spec),
    config: {
      is_api: true,
      operation: spec.operation,
      members_only: spec.members_only ?? false,
      ...(spec.scope ? { scope: spec.scope } : {}),
      ...(spec.file_types ? { file_types: spec.file_types } : {}),
    },
    ...(spec.body_bytes_max ? { bodyLimit: spec.body_bytes_max } : {}),
    handler: async (request, reply) => {
      const params = readParams<Path>(request, spec.id_form);
      const body = request.body as JsonBody | undefined;
      const idempotency = spec.method === "GET" ? null : readIdempotency(request, index_key, body);
      await letOthersRun(body?.bytes ?? 0);
      if (spec.method !== "GET") await request.caller!.assertActive?.();
      const query = checkQuery(request.query);
      const sent = checkBody(body === undefined && may_lack_body ? {} : body?.value);
      const problems = [
        ...query.problems,
        ...withScanned(sent.problems, spec.body && body),
        ...(idempotency && "code" in idempotency ? [idempotency] : []),
      ];
      const command = <Input>(input: Input) => ({
        ...callerIds(request.caller!),
        input,
        bytes: body?.bytes ?? 0,
        idempotency: idempotency && "index" in idempotency ? idempotency : null,
        trace_id: traceOf(request.headers.traceparent).trace_id,
      });
      const handle = () =>
        spec.handle({
          caller: request.caller!,
          params,
          query: query.sound,
          body: sent.sound,
          problems,
          command,
          watchCaller: () => watchCaller(reply),
        });
      const { account_id } = request.caller!;
      if (spec.file_types) {
        return FILE_TURNS.send(account_id, async () => {
          send(reply, await handle());
          await untilClosed(reply);
          return reply;
        });
      }
      if (spec.method === "GET" && readInTurn) {
        const isGone = () => reply.raw.closed;
        return send(reply, await readInTurn(account_id, async () => handle(), isGone));
      }
      const answer =
        spec.stores_nothing && keepAnswer
          ? await keepAnswer(command(null), handle as () => Promise<string>)
          : await handle();
      return send(reply, answer);
    },
  });
}

function readParams<Path extends string>({ params }: FastifyRequest, id_form?: RegExp) {
  const is_known = (id: string) => isId(id) || id_form?.test(id.toLowerCase());
  // No record has FIRST_ID: a malformed id is answered like an unknown one.
  return mapParams(params as PathParams<Path>, (id) =>
    is_known(id) ? id.toLowerCase() : FIRST_ID,
  );
}

/** The problems from the schema, and for other fields those from scanning the bytes. */
function withScanned(found: readonly Problem[], body: JsonBody | undefined): readonly Problem[] {
  const fields = new Set(found.map((problem) => problem.field));
  return [...found, ...(body?.problems ?? []).filter((problem) => !fields.has(problem.field))];
}

function callerIds({ account_id, credential_id, actor }: Caller) {
  return { account_id, credential_id, ...(actor ? { actor } : {}) };
}

function readIdempotency(
  request: FastifyRequest,
  index_key: Buffer,
  body: JsonBody | undefined,
): Idempotency | Problem | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key !== "string" || !IDEMPOTENCY_KEY.test(key)) {
    const message = "Send 1 to 255 printable ASCII characters.";
    return { field: "Idempotency-Key", code: "record_invalid", message };
  }
  const path = request.url.split("?")[0]!;
  const content = canonicalJson(body?.value ?? null);
  return {
    index: keyedHash(index_key, "idempotency key", key),
    request_hash: keyedHash(index_key, "request", request.method, path, content),
  };
}

/** Created only on request: few routes have work that outlasts their caller. */
function watchCaller({ raw }: FastifyReply): AbortSignal {
  // A connection that is already closed fires no more events.
  if (raw.closed) return AbortSignal.abort();
  const hang_up = new AbortController();
  raw.once("close", () => hang_up.abort());
  return hang_up.signal;
}

/** Its last byte was sent, or the caller is gone. */
export function untilClosed({ raw }: FastifyReply): Promise<void> {
  if (raw.closed) return Promise.resolve();
  return new Promise((resolve) => raw.once("close", () => resolve()));
}

function send(reply: FastifyReply, answer: RouteAnswer): FastifyReply {
  if (typeof answer === "object" && "file" in answer) return sendFile(reply, answer);
  reply.type("application/json; charset=utf-8");
  if (typeof answer === "string") return reply.send(answer);
  if (answer.replayed) reply.header("Idempotent-Replayed", "true");
  return reply.send(answer.body);
}

/** An untrusted file: a browser must neither guess its type nor run anything in it. */
function sendFile(reply: FastifyReply, { file, media_type, file_name }: FileAnswer): FastifyReply {
  return reply
    .type(media_type)
    .header("Content-Disposition", `attachment; filename="${file_name}"`)
    .header("Content-Security-Policy", FILE_POLICY)
    .send(file);
}
