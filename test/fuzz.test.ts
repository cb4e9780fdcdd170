import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import type { ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ERRORS, type ErrorCode } from "../src/platform/errors.ts";
import { type ApiDocument, type Operation, readDocument } from "./harness/api-document.ts";
import { type FuzzRequest, fuzzRequests } from "./harness/fuzz-requests.ts";
import { createRecords, type RecordIds } from "./harness/records.ts";
import { startTestServer, type TestServer } from "./harness/server.ts";

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 1_500);
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
const CONNECTIONS = 16;
const SET_SIZE = 2 * CONNECTIONS;
const RECORDS_OF_A_KIND = 5;
const PROGRESS_EVERY = 10_000;
/** Would move the time of everything, or take a record away, under the feet of all other requests. */
const LEFT_OUT = ["advanceSandboxClock", "deleteApp", "deleteExport", "deleteUser"];
/** Only a hang gets there: a busy machine takes seconds for the first PDF of its thread. */
const ANSWER_LIMIT_MS = 30_000;
/** Far beyond what is needed; only a hang gets there. */
const TEST_LIMIT_MS = 60_000 + REQUESTS * 50;

/** Of 91 operations, 1 500 requests leave one or two out by chance. */
const UNREACHED_MAX = REQUESTS < 20_000 ? 6 : 0;

/** Not ajv's own type, which would make `unknown` of what it has seen. */
type Validate = Pick<ValidateFunction, "errors"> & ((value: unknown) => boolean);
type ErrorAnswer = {
  error_code: ErrorCode;
  status: number;
  request_id: string;
  errors?: { field: string; code: ErrorCode }[];
};
type Answer = { status: number; headers: IncomingHttpHeaders; text: string };

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
let server: TestServer;
let document: ApiDocument;
let own: RecordIds[];
let isError: Validate;
const isAnswer = new Map<string, Validate>();
const outcomes = new Map<string, number>();
let sent = 0;

beforeAll(async () => {
  // Without KYC, so that requests get as far as the rules behind it.
  server = await startTestServer({ environment: { SLIPROAD_KYC_ENFORCEMENT: "off" } });
  document = readDocument(server.app.server);
  own = [];
  while (own.length < RECORDS_OF_A_KIND) own.push(await createRecords(server, server.key));
  const ajv = new Ajv2020({ strict: false });
  formats.default(ajv);
  isError = ajv.compile(document.error) as Validate;
  for (const { name, answer } of document.operations) {
    if (answer) isAnswer.set(name, ajv.compile(answer) as Validate);
  }
});
afterAll(async () => {
  agent.destroy();
  await server.close();
});

it(
  `${REQUESTS} odd requests (FUZZ_SEED=${SEED}) get an answer of the contract`,
  async () => {
    const requests = fuzzRequests({
      operations: walked(),
      key: server.key,
      records: own,
      bodies: await acceptedBodies(),
    });
    const set = fc.array(requests, { minLength: SET_SIZE, maxLength: SET_SIZE });
    const property = fc.asyncProperty(set, async (several) => {
      const problems = await Promise.all(several.map(judge));
      const found = problems.filter((problem) => problem !== null);
      if (found.length > 0) throw new Error(found.join("\n"));
      noteProgress();
    });
    await fc.assert(property, {
      seed: SEED,
      numRuns: Math.ceil(REQUESTS / SET_SIZE),
      // The problems name the requests themselves; sets of other sizes would only take longer.
      endOnFailure: true,
      includeErrorInReport: true,
      reporter: reportBriefly,
    });
    console.log(`FUZZ_SEED=${SEED}: ${summary()}`);
    const { prototype } = Object;
    expect(Object.keys(prototype)).toEqual([]);
    expect((await server.call("GET", "/healthz", undefined, { key: null })).status).toBe(200);
    // Requests that all fail at the door would prove little.
    const unreached = walked().filter(({ name }) => !wasReached(name));
    const names = unreached.map((operation) => operation.name).join(", ");
    expect(unreached.length, names).toBeLessThanOrEqual(UNREACHED_MAX);
  },
  TEST_LIMIT_MS,
);

/** Null when the answer keeps the contract, else what is wrong, with the request. */
async function judge(request: FuzzRequest): Promise<string | null> {
  const problem = await send(request).then(
    (answer) => judgeAnswer(request, answer),
    (error: Error) => `no answer: ${error.message}`,
  );
  return problem && `${problem}\n  ${show(request)}`;
}

async function judgeAnswer(request: FuzzRequest, answer: Answer): Promise<string | null> {
  const told = () => `${answer.status} ${answer.text.slice(0, 600)}`;
  if (answer.status >= 500) return `a server error: ${told()}`;
  if (!answer.headers["x-request-id"]) return `no X-Request-Id: ${told()}`;
  if (request.method === "HEAD") return null;
  // What a browser asks first, of paths that take tokens.
  if (request.method === "OPTIONS" && answer.status === 204) {
    return answer.headers["access-control-allow-origin"] === "*" ? null : `no CORS: ${told()}`;
  }
  const operation = answering(request);
  if (answer.status === 200 && operation?.answer === null) {
    count(`${operation.name} 200`);
    return null;
  }
  // Where no route is, somebody who asks for a page without a key gets one.
  const is_page = answer.status === 404 && answer.headers["content-type"]?.startsWith("text/html");
  const { accept, authorization } = request.headers;
  if (is_page && !operation && accept === "text/html" && authorization === undefined) return null;
  if (!answer.headers["content-type"]?.startsWith("application/json")) {
    return `not JSON: ${told()}`;
  }
  const body = JSON.parse(answer.text);
  if (answer.status !== 200) return judgeError(operation, answer, body);
  if (!operation) return `there is no such operation, but it answered: ${told()}`;
  count(`${operation.name} 200`);
  const check = isAnswer.get(operation.name)!;
  if (!check(body)) return `${JSON.stringify(check.errors)} in ${told()}`;
  return judgeCreated(operation, request.path, answer, body);
}

/** Another method may be another operation, or none; so may an odd id. */
function answering({ operation, method, path }: FuzzRequest): Operation | undefined {
  const candidates = [operation, ...document.operations];
  return candidates.find(
    (other) => other.method === method && patternOf(other).test(path.split("?")[0]!),
  );
}

function patternOf({ path }: Operation): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]*")}$`);
}

function judgeError(
  operation: Operation | undefined,
  answer: Answer,
  body: ErrorAnswer,
): string | null {
  const told = `${answer.status} ${answer.text.slice(0, 600)}`;
  if (!isError(body)) return `${JSON.stringify(isError.errors)} in ${told}`;
  const code = body.error_code;
  count(`${operation?.name} ${code}`);
  if (answer.status !== ERRORS[code][0] || body.status !== answer.status) {
    return `a status that is not the table's: ${told}`;
  }
  if (body.request_id !== answer.headers["x-request-id"]) return `another request's id: ${told}`;
  if (LEAK.test(answer.text)) return `tells what is nobody's business: ${told}`;
  if (code === "route_not_found") return null;
  if (!operation) return BEFORE_ROUTE.has(code) ? null : `there is no such operation: ${told}`;
  const is_documented = operation.error_codes.has(code);
  return is_documented ? null : `${operation.name} does not document ${code}: ${told}`;
}

/** The server reads a body before it says that there is no such route; `record_invalid`: its names. */
const BEFORE_ROUTE = new Set([
  ...["bad_request", "body_too_large", "unsupported_media_type", "record_invalid"],
]);
const LEAK = /\n\s+at |node_modules|src\/|\bselect .+ from |\binsert into |syntax error at/;

/** An export is worked on at once, and an endpoint may fail at once: this is left out. */
function withoutProgress(text: string): string {
  const { export: made, ...rest } = JSON.parse(text, (name, value) =>
    name === "failing_since" || name === "circuit_until" ? null : value,
  );
  if (!made) return JSON.stringify(rest);
  const { status: _, rows: __, bytes: ___, digest: ____, updated_at: _____, ...kept } = made;
  return JSON.stringify({ export: kept, ...rest });
}

/** What was created must be found again, and be the same. */
async function judgeCreated(
  operation: Operation,
  path: string,
  answer: Answer,
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server sent.
  body: any,
): Promise<string | null> {
  // The first answer again: the record may have changed since.
  if (answer.headers["idempotent-replayed"]) return null;
  const show = operation.method === "POST" && showOf(operation);
  const id = Object.values<{ id?: string }>(body)[0]?.id;
  if (!show || !id) return null;
  const url = `${path.split("?")[0]}/${id}`;
  const again = await server.call("GET", url);
  // Secrets are told by the creation alone.
  const { client_secret, webhook_secret: _, webhook_secret_standard: __, ...rest } = body;
  const made = client_secret === undefined ? answer.text : JSON.stringify(rest);
  const isSame = withoutProgress(again.text) === withoutProgress(made);
  return isSame ? null : `made ${answer.text}, but found ${again.text}`;
}

/** The operation that shows what this one creates: `/users` → `GET /users/{user_id}`. */
function showOf({ path }: Operation): Operation | undefined {
  return document.operations.find(
    (other) =>
      other.method === "GET" &&
      // A file is shown as it is, without a record around it.
      other.answer !== null &&
      other.path.startsWith(`${path}/{`) &&
      other.path.indexOf("/", path.length + 1) === -1,
  );
}

function send({ method, path, headers, body }: FuzzRequest): Promise<Answer> {
  return new Promise((done, fail) => {
    const { hostname, port } = new URL(server.url);
    const signal = AbortSignal.timeout(ANSWER_LIMIT_MS);
    const length = body === null ? {} : { "content-length": String(body.length) };
    const all = { ...headers, ...length };
    const request = httpRequest({ hostname, port, agent, method, path, headers: all, signal });
    request.on("response", (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk) => chunks.push(chunk));
      incoming.on("error", fail);
      incoming.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        done({ status: incoming.statusCode!, headers: incoming.headers, text });
      });
    });
    request.on("error", fail);
    request.end(body ?? undefined);
  });
}

/** A right body for every row of the table of requirements, made of the table's own examples. */
async function acceptedBodies(): Promise<Map<string, unknown[]>> {
  const { body } = await server.call("GET", "/payment_detail_requirements");
  type Row = { fields: { name: string; example: string }[] };
  const details = body.payment_detail_requirements.map((row: Row) => ({
    payment_detail: Object.fromEntries(row.fields.map(({ name, example }) => [name, example])),
  }));
  return new Map([
    ["createPaymentDetail", details],
    ["validatePaymentDetail", details],
  ]);
}

function walked(): Operation[] {
  return document.operations.filter(({ name }) => !LEFT_OUT.includes(name));
}

/** Accepted, or refused for a reason that only its own rules can give. */
function wasReached(name: string): boolean {
  return [...outcomes.keys()].some((outcome) => {
    const [operation, code] = outcome.split(" ");
    return operation === name && !AT_THE_DOOR.has(code!);
  });
}

const AT_THE_DOOR = new Set<string>([
  ...["bad_request", "unsupported_media_type", "body_too_large", "unauthorized"],
  ...["version_unknown", "unknown_format", "route_not_found", "record_not_found"],
  ...["parameter_unknown", "parameter_missing", "idempotency_key_reused"],
]);

function count(outcome: string): void {
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
}

/** A long run says how far it came, also when it is ended early. */
function noteProgress(): void {
  sent += SET_SIZE;
  if (sent % PROGRESS_EVERY < SET_SIZE) console.log(`FUZZ_SEED=${SEED}: ${sent} requests`);
}

function summary(): string {
  const totals = new Map<string, number>();
  for (const [outcome, times] of outcomes) {
    const what = outcome.split(" ")[1]!;
    totals.set(what, (totals.get(what) ?? 0) + times);
  }
  return [...totals].map(([what, times]) => `${what} ${times}`).join(", ");
}

function show({ method, path, headers, body }: FuzzRequest): string {
  const cut = (text: string) => (text.length > 400 ? `${text.slice(0, 400)}…` : text);
  const { authorization: _, ...rest } = headers;
  const text = body === null ? "" : JSON.stringify(body.toString("latin1"));
  return `${method} ${cut(path)} ${cut(JSON.stringify(rest))} ${cut(text)}`;
}

function reportBriefly(details: fc.RunDetails<[FuzzRequest[]]>): void {
  if (!details.failed) return;
  const error = details.errorInstance as Error | null;
  throw new Error(`FUZZ_SEED=${SEED}, set ${details.numRuns}: ${error?.message}`);
}
