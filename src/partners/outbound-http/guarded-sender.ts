import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { isIP, type LookupFunction, type TcpNetConnectOpts } from "node:net";
import type { Readable } from "node:stream";
import { LruMap } from "../../platform/lru-map.ts";
import {
  type AddressPolicy,
  type AddressRules,
  createAddressPolicy,
  withoutDot,
} from "./address-policy.ts";
import { readStart, readWhole } from "./read-answer.ts";
import { createResolveHost, type ResolveHost } from "./resolve-host.ts";
import { type FailureKind, SendError, toSendError } from "./send-error.ts";

export type GuardedSenderOptions = AddressRules & {
  /** Until a connection stands: name, TCP and TLS together. */
  connect_timeout_ms?: number;
  /** From the call to the last byte of the answer. */
  whole_timeout_ms?: number;
  resolve?: ResolveHost;
};

export type OutboundRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: Buffer | string;
  /** After expansion. Without `on_body` the answer is cut there, with it a larger one fails. */
  max_answer_bytes: number;
  whole_timeout_ms?: number;
  /** Takes the body of a 2xx answer as a stream; what it throws is thrown by `send`. */
  on_body?: (body: Readable, answer: AnswerHead) => Promise<void>;
};

export type AnswerHead = { status: number; headers: Record<string, string> };
export type OutboundAnswer = AnswerHead & { body: Buffer; truncated: boolean };
export type OutboundFailure = {
  failure: FailureKind;
  message: string;
  /** Of an answer that began but could not be used. */
  status: number | null;
};

export type GuardedSender = {
  send(request: OutboundRequest): Promise<OutboundAnswer | OutboundFailure>;
  /** Why an address could not be sent to, as far as its text tells; null when it could. */
  refuse(url: string): string | null;
  /** Ends the connections that were kept for later requests. */
  close(): void;
};

type Target = { url: URL; hostname: string; port: number };
type Agents = { http: http.Agent; https: https.Agent };
type Sender = {
  /** Throws where the address cannot be sent to. */
  targetOf: (url: string) => Target;
  lookupFor: (port: number) => LookupFunction;
  connect_timeout_ms: number;
  whole_timeout_ms: number;
  kept: Agents;
};

const CONNECT_TIMEOUT_MS = 5_000;
const WHOLE_TIMEOUT_MS = 15_000;
const HEADER_BYTES_MAX = 16 * 1024;
const IDLE_CONNECTION_MS = 10_000;
const NEXT_ADDRESS_MS = 1_000;
const TARGETS_CACHED_MAX = 1_000;
const ONE_PIECE_BYTES_MAX = 64 * 1024;

/**
 * The one way out for requests to addresses that others typed in: webhook and document URLs.
 *
 * The check stands where the connection is made. A literal address is checked before each request;
 * a name is resolved by our own lookup, which hands Node only addresses that passed, and Node
 * connects to those without asking again: a name server that changes its answer wins nothing. A
 * kept connection is found again by host and port only, so it leads to an address that was
 * checked for that host. Agents of our own ignore proxy variables.
 */
export function createGuardedSender(options: GuardedSenderOptions): GuardedSender {
  const policy = createAddressPolicy(options);
  const resolve = options.resolve ?? createResolveHost(policy.names);
  const targets = new LruMap<string, Target>(TARGETS_CACHED_MAX);
  const sender: Sender = {
    // What a text means, and whether its literal address is allowed, never changes.
    targetOf: (text) => {
      const known = targets.get(text);
      if (known) return known;
      const target = readTarget(policy, text);
      targets.set(text, target);
      return target;
    },
    lookupFor: (port) => checkedLookup(policy, resolve, port),
    connect_timeout_ms: options.connect_timeout_ms ?? CONNECT_TIMEOUT_MS,
    whole_timeout_ms: options.whole_timeout_ms ?? WHOLE_TIMEOUT_MS,
    kept: createAgents(true),
  };
  return {
    send: (request) => send(sender, request),
    refuse: (url) => {
      try {
        readTarget(policy, url);
        return null;
      } catch (error) {
        if (error instanceof SendError) return error.message;
        throw error;
      }
    },
    close: () => closeAgents(sender.kept),
  };
}

async function send(
  sender: Sender,
  request: OutboundRequest,
): Promise<OutboundAnswer | OutboundFailure> {
  const end_ms = performance.now() + (request.whole_timeout_ms ?? sender.whole_timeout_ms);
  try {
    const target = sender.targetOf(request.url);
    const result = await attempt(sender, sender.kept, target, request, end_ms);
    if (result !== "connection_was_stale") return result;
    const fresh = createAgents(false);
    const again = await attempt(sender, fresh, target, request, end_ms);
    closeAgents(fresh);
    if (again === "connection_was_stale") throw new Error("a new connection cannot be stale");
    return again;
  } catch (error) {
    if (error instanceof SendError) return failure(error, null);
    throw error;
  }
}

/** Reads the address; WHATWG's parser turns every spelling of an IP address into the usual one. */
function readTarget(policy: AddressPolicy, text: string): Target {
  const url = URL.parse(text);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new SendError("refused_address", "This is not an http or https address.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new SendError("refused_address", "The address must not hold a user name or password.");
  }
  const hostname = withoutDot(url.hostname.replace(/^\[|\]$/g, ""));
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  if (isIP(hostname) !== 0) checkAddresses(policy, hostname, [hostname], port);
  return { url, hostname, port };
}

/**
 * One bad address spoils the host: whether a request goes out must not depend on which of a
 * host's addresses is tried first. The message keeps to itself what a name resolves to: whoever
 * typed in the name would learn about the network inside.
 */
function checkAddresses(
  policy: AddressPolicy,
  hostname: string,
  addresses: readonly string[],
  port: number,
): void {
  for (const address of addresses) {
    const reason = policy.refuse(hostname, address, port);
    if (reason) throw new SendError("refused_address", `${hostname} ${reason}.`);
  }
}

function checkedLookup(policy: AddressPolicy, resolve: ResolveHost, port: number): LookupFunction {
  const find = async (hostname: string) => {
    const addresses = await resolve(hostname).catch((error: NodeJS.ErrnoException) => {
      throw new SendError("dns", `${hostname} could not be resolved (${error.code ?? "failed"}).`);
    });
    if (addresses.length === 0) throw new SendError("dns", `${hostname} has no address.`);
    checkAddresses(policy, hostname, addresses, port);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  return (hostname, { all }, callback) => {
    find(hostname).then(
      (found) =>
        all ? callback(null, found) : callback(null, found[0]!.address, found[0]!.family),
      (error) => callback(error, ""),
    );
  };
}

/** One request on one connection. Ends exactly once, whatever the other side does. */
function attempt(
  sender: Sender,
  agents: Agents,
  target: Target,
  request: OutboundRequest,
  end_ms: number,
): Promise<OutboundAnswer | OutboundFailure | "connection_was_stale"> {
  return new Promise((resolve, reject) => {
    const outgoing = open(sender, agents, target, request);
    let is_connected = false;
    let incoming: IncomingMessage | undefined;
    let cause: SendError | undefined;
    const giveUp = (message: string) => {
      cause = new SendError("timeout", message);
      // First the answer, with the reason: a body without a length must not seem to end well.
      incoming?.destroy(cause);
      outgoing.destroy(cause);
    };
    const connecting = setTimeout(
      () => giveUp("No connection was made in time."),
      sender.connect_timeout_ms,
    );
    const whole = setTimeout(
      () => giveUp("There was no complete answer in time."),
      Math.max(1, end_ms - performance.now()),
    );
    const finish = (end: () => void) => {
      clearTimeout(connecting);
      clearTimeout(whole);
      end();
    };
    const fail = (error: unknown) =>
      finish(() => {
        // The server closed a kept connection just as we used it: nothing was answered, and the
        // request has to go out on a new one.
        const is_stale = outgoing.reusedSocket && !incoming && !cause && isReset(error);
        if (is_stale) return resolve("connection_was_stale");
        const known = cause ?? toSendError(error, is_connected);
        resolve(failure(known, incoming?.statusCode ?? null));
      });

    outgoing.on("socket", (socket) => {
      const connected = () => {
        is_connected = true;
        clearTimeout(connecting);
      };
      if (outgoing.reusedSocket) connected();
      else socket.once(target.url.protocol === "https:" ? "secureConnect" : "connect", connected);
    });
    outgoing.on("response", (answer) => {
      incoming = answer;
      takeAnswer(answer, request).then(
        (result) => (cause ? fail(cause) : finish(() => resolve(result))),
        (error) => {
          answer.destroy();
          if (error instanceof ConsumerError && !cause) finish(() => reject(error.cause));
          else fail(error);
        },
      );
    });
    outgoing.on("error", (error) => {
      if (!incoming) fail(error);
    });
    // The last word, should neither an answer nor an error have come (such as after a 101).
    outgoing.on("close", () => {
      if (!incoming) fail(new SendError("protocol", "The connection ended without an answer."));
    });
    sendBody(outgoing, request.body);
  });
}

/**
 * A short body goes out as text of one byte a character: Node then sends it with the headers in
 * one piece instead of two. The bytes are the same.
 */
function sendBody(outgoing: ClientRequest, body: Buffer | string | undefined): void {
  const is_short = Buffer.isBuffer(body) && body.length <= ONE_PIECE_BYTES_MAX;
  if (is_short) outgoing.end(body.toString("latin1"), "latin1");
  else outgoing.end(body);
}

function open(
  sender: Sender,
  agents: Agents,
  { url, hostname, port }: Target,
  request: OutboundRequest,
): ClientRequest {
  const is_secure = url.protocol === "https:";
  const options: https.RequestOptions & TcpNetConnectOpts = {
    method: request.method,
    protocol: url.protocol,
    hostname,
    port,
    path: `${url.pathname}${url.search}`,
    headers: { ...request.headers, "accept-encoding": "identity" },
    agent: is_secure ? agents.https : agents.http,
    lookup: sender.lookupFor(port),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    insecureHTTPParser: false,
    ...(is_secure ? { rejectUnauthorized: true } : {}),
  };
  try {
    return (is_secure ? https : http).request(options);
  } catch (error) {
    // A header that cannot be sent, for one.
    throw toSendError(error, false);
  }
}

async function takeAnswer(
  incoming: IncomingMessage,
  request: OutboundRequest,
): Promise<OutboundAnswer> {
  const head = { status: incoming.statusCode!, headers: plainHeaders(incoming) };
  if (head.status >= 300 && head.status <= 399) {
    throw new SendError("redirect", `The answer was ${head.status}; redirects are not followed.`);
  }
  if (!request.on_body || head.status < 200 || head.status > 299) {
    return { ...head, ...(await readStart(incoming, request.max_answer_bytes)) };
  }
  const { body, broken } = readWhole(incoming, request.max_answer_bytes);
  body.on("error", () => {});
  try {
    await request.on_body(body, head);
  } catch (error) {
    throw broken.reason ?? new ConsumerError("the consumer of the body failed", { cause: error });
  }
  if (broken.reason) throw broken.reason;
  if (!body.readableEnded) incoming.destroy();
  return { ...head, body: Buffer.alloc(0), truncated: false };
}

/** A fault of the caller's own consumer, not of the other side. */
class ConsumerError extends Error {}

function plainHeaders(incoming: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  const raw = incoming.rawHeaders;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase();
    const before = headers[name];
    headers[name] = before === undefined ? raw[at + 1]! : `${before}, ${raw[at + 1]}`;
  }
  return headers;
}

function isReset(error: unknown): boolean {
  return ["ECONNRESET", "EPIPE"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function failure({ failure, message }: SendError, status: number | null): OutboundFailure {
  return { failure, message, status };
}

function createAgents(keepAlive: boolean): Agents {
  const options = { keepAlive, timeout: IDLE_CONNECTION_MS, scheduling: "lifo" } as const;
  return { http: new http.Agent(options), https: new https.Agent(options) };
}

function closeAgents(agents: Agents): void {
  agents.http.destroy();
  agents.https.destroy();
}
