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

type AskNode = (method: string, params: readonly unknown[]) => Promise<unknown>;

const CALLS_PER_BATCH = 20;
/** More than the logs of one full block; parsing it stops all other work meanwhile. */
const BYTES_MAX = 16 * 1024 * 1024;
const MESSAGE_MAX = 300;
const TOO_LARGE = 413;

/**
 * Asks one node. Calls made at the same time are one batch: behind a balancer one node answers all
 * of it. Nothing is retried here: whoever reads the chain decides when to ask again.
 */
export function openJsonRpc(url: string, timeout_ms: number): AskNode {
  const { host, username, password } = new URL(url);
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const authorization = username && { authorization: `Basic ${btoa(pair)}` };
  const dispatcher = new Agent({ connect: { timeout: timeout_ms } });
  let waiting: Pending[] = [];

  const post = async (calls: readonly Pending[]): Promise<Map<number, unknown>> => {
    const bodies = calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }));
    const answer = await request(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...(authorization || {}) },
      body: JSON.stringify(bodies.length === 1 ? bodies[0] : bodies),
      signal: AbortSignal.timeout(timeout_ms),
      dispatcher,
    });
    const text = await readText(answer.body);
    if (answer.statusCode !== 200) {
      const Kind = answer.statusCode === TOO_LARGE ? RpcRefused : RpcFailure;
      throw new Kind(`HTTP ${answer.statusCode}`);
    }
    const list: unknown[] = [JSON.parse(text)].flat();
    return new Map(list.map((one) => [(one as { id: number }).id, one]));
  };

  const send = async (calls: readonly Pending[]) => {
    const about = ({ method }: Pending, reason: string) =>
      // The URL may contain a key, and the node's own words may contain anything.
      `${host}: ${method} failed (${plain(reason.replaceAll(url, host)).slice(0, MESSAGE_MAX)})`;
    try {
      const answers = await post(calls);
      calls.forEach((call, id) => {
        const { result, error } = (answers.get(id) ?? {}) as Record<string, unknown>;
        if (error) call.reject(new RpcRefused(about(call, describe(error))));
        else if (result === undefined) call.reject(new RpcFailure(about(call, "no answer")));
        else call.resolve(result);
      });
    } catch (error) {
      const Kind = kindOf(error);
      for (const call of calls) call.reject(new Kind(about(call, reasonOf(error, timeout_ms))));
    }
  };

  const flush = () => {
    const calls = waiting;
    waiting = [];
    for (let at = 0; at < calls.length; at += CALLS_PER_BATCH) {
      void send(calls.slice(at, at + CALLS_PER_BATCH));
    }
  };

  return (method, params) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(flush);
      waiting.push({ method, params, resolve, reject });
    });
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

function kindOf(error: unknown) {
  if (error instanceof RpcRefused) return RpcRefused;
  return isTimeout(error) ? RpcTimeout : RpcFailure;
}

function isTimeout(error: unknown): boolean {
  return (error as Error).name === "TimeoutError";
}

function describe(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return `${code}: ${message}`;
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
