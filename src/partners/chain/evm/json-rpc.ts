import { Agent, request } from "undici";
import { ChainUnavailable } from "../port.ts";

/** The node did not answer, or not with what was asked for. Nothing is known; ask again. */
export class RpcFailure extends ChainUnavailable {
  override name = "RpcFailure";
}

/** The node answered with an error of its own, such as a range that is too large. */
export class RpcRefused extends RpcFailure {
  override name = "RpcRefused";
}

/** The node ran a contract's function, and the contract has none such or ended with an error. */
export class RpcReverted extends RpcRefused {
  override name = "RpcReverted";
}

/** No answer in time: the question may have been too large, or the node is away. */
export class RpcTimeout extends RpcFailure {
  override name = "RpcTimeout";
}

type Pending = {
  method: string;
  params: readonly unknown[];
  resolve(value: unknown): void;
  reject(error: Error): void;
};

type JsonRpc = {
  ask(method: string, params: readonly unknown[]): Promise<unknown>;
  /** The longest time that an answer took since this was last called, in milliseconds. */
  takeSlowest(): number;
};

type Answer = Readonly<Record<string, unknown>>;

const CALLS_PER_BATCH = 20;
/** More than the logs of one full block; parsing it stops all other work meanwhile. */
const BYTES_MAX = 16 * 1024 * 1024;
const MESSAGE_MAX = 300;
/** Nodes refuse a size with one of these, and say more in the body. */
const REFUSED_SIZE = [400, 413];
const RATE_LIMIT =
  /rate.?limit|request rate|too many requests|throughput|compute units|daily request/i;
const TOO_MANY_REQUESTS = 429;
const REVERTED = /revert|invalid opcode/i;
/** The error codes of a contract's own error. */
const REVERTED_CODES: readonly unknown[] = [3, -32_015];
/** A part of a URL's path of this length may be a key. */
const KEY_MIN = 8;

/**
 * Asks one node. Calls made at the same time are one batch: behind a balancer one node answers all
 * of it. Nothing is retried here: whoever reads the chain decides when to ask again.
 */
export function openJsonRpc(url: string, timeout_ms: number): JsonRpc {
  const { host, username, password } = new URL(url);
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = username && { authorization: `Basic ${btoa(pair)}` };
  const dispatcher = new Agent({ connect: { timeout: timeout_ms } });
  const hideKeys = keyHider(url);
  let waiting: Pending[] = [];
  let slowest_ms = 0;

  const post = async (calls: readonly Pending[]): Promise<Map<unknown, Answer>> => {
    const bodies = calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }));
    const { statusCode, body } = await request(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...(authorization || {}) },
      body: JSON.stringify(bodies.length === 1 ? bodies[0] : bodies),
      signal: AbortSignal.timeout(timeout_ms),
      dispatcher,
    });
    const answers = readAnswers(statusCode, await readText(body));
    const [first] = answers;
    // One error for all calls, such as a batch that is too large.
    const is_for_all = answers.length === 1 && (calls.length > 1 || first?.id === null);
    if (is_for_all && first?.error) throw toError(first.error);
    return new Map(answers.map((answer) => [answer.id, answer]));
  };

  const send = async (calls: readonly Pending[]) => {
    const began_ms = performance.now();
    const fail = (call: Pending, error: unknown) => {
      const Kind = kindOf(error);
      // The node's own words may contain anything.
      const reason = plain(hideKeys(reasonOf(error, timeout_ms))).slice(0, MESSAGE_MAX);
      call.reject(new Kind(`${host}: ${call.method} failed (${reason})`));
    };
    try {
      const answers = await post(calls);
      calls.forEach((call, id) => {
        const { result, error } = answers.get(id) ?? {};
        if (error) fail(call, toError(error));
        else if (result === undefined) fail(call, new RpcFailure("no answer"));
        else call.resolve(result);
      });
    } catch (error) {
      for (const call of calls) fail(call, error);
    } finally {
      slowest_ms = Math.max(slowest_ms, performance.now() - began_ms);
    }
  };

  const flush = () => {
    const calls = waiting;
    waiting = [];
    for (let at = 0; at < calls.length; at += CALLS_PER_BATCH) {
      void send(calls.slice(at, at + CALLS_PER_BATCH));
    }
  };

  return {
    ask: (method, params) =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) queueMicrotask(flush);
        waiting.push({ method, params, resolve, reject });
      }),
    takeSlowest: () => {
      const taken_ms = slowest_ms;
      slowest_ms = 0;
      return taken_ms;
    },
  };
}

/** Errors must not contain what the operator pays the provider for. */
function keyHider(url: string): (text: string) => string {
  const { host, pathname, search } = new URL(url);
  const keys = [pathname, search].flatMap((part) => part.split(/[/?&=]/));
  const secrets = keys.filter(({ length }) => length >= KEY_MIN);
  return (text) =>
    secrets.reduce((hidden, key) => hidden.replaceAll(key, "…"), text.replaceAll(url, host));
}

async function readText(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > BYTES_MAX) throw new RpcRefused(`an answer of more than ${BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** With another status than 200 only a refusal is read: it may name what the node allows. */
function readAnswers(status: number, text: string): Answer[] {
  if (status === 200) return toAnswers(JSON.parse(text));
  if (!REFUSED_SIZE.includes(status)) throw new RpcFailure(`HTTP ${status}`);
  try {
    const answers = toAnswers(JSON.parse(text));
    if (answers.some(({ error }) => error)) return answers;
  } catch {
    // Not JSON: the status says enough.
  }
  throw new RpcRefused(`HTTP ${status}`);
}

function toAnswers(body: unknown): Answer[] {
  return [body].flat().map((one) => Object(one) as Answer);
}

/** A limit of the rate says nothing about what was asked: it is as if the node had not answered. */
function toError(error: unknown): RpcFailure {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  const text = `${code}: ${message}`;
  if (code === TOO_MANY_REQUESTS || RATE_LIMIT.test(text)) return new RpcFailure(text);
  const is_reverted = REVERTED_CODES.includes(code) || REVERTED.test(text);
  return is_reverted ? new RpcReverted(text) : new RpcRefused(text);
}

function kindOf(error: unknown): new (message: string) => RpcFailure {
  if (error instanceof RpcFailure) return error.constructor as new (message: string) => RpcFailure;
  return isTimeout(error) ? RpcTimeout : RpcFailure;
}

function isTimeout(error: unknown): boolean {
  return (error as Error).name === "TimeoutError";
}

/** PostgreSQL cannot store NUL, and a terminal would run the rest. */
function plain(text: string): string {
  return text.replace(/\p{Cc}/gu, " ");
}

function reasonOf(error: unknown, timeout_ms: number): string {
  const { message, code } = error as Error & { code?: string };
  if (isTimeout(error)) return `no answer within ${timeout_ms / 1000} s`;
  if (error instanceof SyntaxError) return "no JSON";
  return code && !message.includes(code) ? `${code} ${message}` : message;
}
