import { isIP } from "node:net";
import type { Dispatcher } from "undici";
import { LruMap } from "../../platform/lru-map.ts";
import { Shares } from "../../platform/shares.ts";
import {
  type AddressPolicy,
  type AddressRules,
  createAddressPolicy,
  isLoopbackAddress,
  withoutDot,
} from "./address-policy.ts";
import { createConnect } from "./connect.ts";
import { type Ends, Exchange } from "./exchange.ts";
import type {
  OutboundFailure,
  OutboundRequest,
  OutboundResult,
  Target,
} from "./outbound-request.ts";
import { destinationOf, Pools } from "./pools.ts";
import { createResolveHost, type ResolveHost } from "./resolve-host.ts";
import { sendByNode } from "./send-by-node.ts";
import { SendError } from "./send-error.ts";

export type GuardedSenderOptions = AddressRules & {
  /** Limit for the whole connection setup: name, TCP, proxy and TLS together. */
  connect_timeout_ms?: number;
  /** From the call to the last byte of the answer. */
  whole_timeout_ms?: number;
  resolve?: ResolveHost;
  /** Used for all connections except those to this machine. */
  proxy_url?: string | undefined;
  requests_max?: number;
};

export type GuardedSender = {
  send(request: OutboundRequest): Promise<OutboundResult>;
  /** Whether one more request of this account would be sent now. */
  hasCapacity(account_id: string): boolean;
  /** Why requests to this URL would be refused, judging by its text; null if they would not. */
  refuse(url: string): string | null;
  /** Closes all connections; requests in progress fail. */
  close(): void;
};

const CONNECT_TIMEOUT_MS = 5_000;
const WHOLE_TIMEOUT_MS = 15_000;
const TARGETS_CACHED_MAX = 1_000;
/** Requests in progress at a time, of all accounts; one account may use a quarter at most. */
const REQUESTS_MAX = 2_000;
/** A larger body may still be in transit when the answer is complete. */
const KEPT_BODY_BYTES_MAX = 64 * 1024;
/** Headers that only the sender sets: a second one could smuggle in another message. */
const FRAMING = /^(accept-encoding|connection|content-length|host|transfer-encoding)$/i;

/**
 * All requests to URLs that callers entered, for webhooks and documents, are sent here. The IP
 * addresses are checked where the connection is opened (`connect.ts`); a kept connection is used
 * only for the account, the origin and the size of answers that it was opened for. Proxy
 * environment variables are ignored.
 */
export function createGuardedSender(options: GuardedSenderOptions): GuardedSender {
  const policy = createAddressPolicy(options);
  const resolve = options.resolve ?? createResolveHost(policy.names);
  const pools = new Pools(
    createConnect({
      findAddresses: (hostname, port) => findAddresses(policy, resolve, hostname, port),
      isLoopback: isLoopbackAddress,
      connect_timeout_ms: options.connect_timeout_ms ?? CONNECT_TIMEOUT_MS,
      proxy_url: options.proxy_url === undefined ? null : new URL(options.proxy_url),
    }),
  );
  const { requests_max = REQUESTS_MAX, whole_timeout_ms = WHOLE_TIMEOUT_MS } = options;
  const capacity = new Shares(requests_max, requests_max / 4);
  const targets = new LruMap<string, Target>(TARGETS_CACHED_MAX);
  const targetOf = (url: string): Target => {
    const known = targets.get(url);
    if (known) return known;
    const target = readTarget(url);
    targets.set(url, target);
    return target;
  };
  const sendOne = (request: OutboundRequest, time_ms: number): Promise<OutboundResult> => {
    try {
      const target = targetOf(request.url);
      const dispatched = dispatchOptions(target, request);
      if (!capacity.take(request.account_id)) throw new SendError("connect", NO_CAPACITY);
      const onEnd = () => capacity.leave(request.account_id);
      return exchange(pools, target, dispatched, { request, time_ms, onEnd });
    } catch (error) {
      if (!(error instanceof SendError)) throw error;
      return Promise.resolve(failureOf(error));
    }
  };
  return {
    send: (request) => {
      const time_ms = request.whole_timeout_ms ?? whole_timeout_ms;
      return request.redirects_max
        ? sendFollowing(sendOne, request, time_ms)
        : sendOne(request, time_ms);
    },
    hasCapacity: (account_id) => capacity.has(account_id),
    refuse: (url) => {
      try {
        const { hostname, port } = readTarget(url);
        const is_name = isIP(hostname) === 0;
        const reason = is_name
          ? policy.refuseName(hostname, port)
          : policy.refuse(hostname, hostname, port);
        return reason && `${hostname} ${reason}.`;
      } catch (error) {
        if (error instanceof SendError) return error.message;
        throw error;
      }
    },
    close: () => pools.close(new SendError("connect", "The sender was closed.")),
  };
}

const NO_CAPACITY = "Too many requests are in progress.";

function failureOf({ failure, message }: SendError): OutboundFailure {
  return { failure, message, status: null, body: null };
}

/** Uses a kept connection; Node's client if that was closed or undici cannot read the answer. */
function exchange(
  pools: Pools,
  target: Target,
  dispatched: Dispatcher.DispatchOptions,
  { request, time_ms, onEnd }: { request: OutboundRequest; time_ms: number; onEnd: () => void },
): Promise<OutboundResult> {
  const { account_id, max_answer_bytes: answer_bytes_max } = request;
  const destination = destinationOf(target, account_id, answer_bytes_max);
  const begun_ms = performance.now();
  return new Promise((resolve, reject) => {
    // Not by `finally`, whose promises cost every delivery time.
    const end = {
      resolve: (result: OutboundResult) => {
        onEnd();
        resolve(result);
      },
      reject: (error: unknown) => {
        onEnd();
        reject(error);
      },
    };
    const byNode = () => {
      const left_ms = Math.max(1, Math.ceil(time_ms - (performance.now() - begun_ms)));
      const ends: Ends = { ...end, again: null, isNew: () => true };
      const open = () => pools.openOne(destination);
      void sendByNode(open, dispatched, answer_bytes_max, new Exchange(request, left_ms, ends));
    };
    const again = (reason: "stale" | "unreadable") => {
      if (reason === "unreadable") pools.useNode(destination);
      byNode();
    };
    const ends: Ends = { ...end, again, isNew: pools.isNew };
    if (pools.needsNode(destination)) byNode();
    else pools.dispatch(destination, dispatched, new Exchange(request, time_ms, ends));
  });
}

/** Each redirect is a separate request, checked like the first; all share the time limit. */
async function sendFollowing(
  send: (request: OutboundRequest, time_ms: number) => Promise<OutboundResult>,
  request: OutboundRequest,
  time_ms: number,
): Promise<OutboundResult> {
  const ends_ms = performance.now() + time_ms;
  let { url } = request;
  for (let left = request.redirects_max ?? 0; ; left -= 1) {
    const left_ms = Math.max(1, Math.ceil(ends_ms - performance.now()));
    const result = await send({ ...request, url }, left_ms);
    if (!("failure" in result) || result.failure !== "redirect" || !result.location) return result;
    if (left === 0) return { ...result, message: "There are too many redirects." };
    const next = URL.parse(result.location, url);
    if (!next || (url.startsWith("https:") && next.protocol !== "https:")) {
      return { ...result, message: "The redirect target is not an https URL." };
    }
    url = next.href;
  }
}

function dispatchOptions(
  { host, path }: Target,
  { method, headers: given, body }: OutboundRequest,
): Dispatcher.DispatchOptions {
  const headers: Record<string, string> = {
    host,
    // Decompression costs CPU, and the result may be arbitrarily large.
    "accept-encoding": "identity",
  };
  for (const name in given) {
    if (FRAMING.test(name)) {
      throw new SendError("protocol", `The header ${JSON.stringify(name)} cannot be sent.`);
    }
    headers[name] = given[name]!;
  }
  const bytes = typeof body === "string" ? Buffer.from(body) : (body ?? null);
  const reset = bytes !== null && bytes.length > KEPT_BODY_BYTES_MAX;
  return { method, path, headers, body: bytes, ...(reset ? { reset } : {}) };
}

const NO_HOST = "The URL has no valid host name.";

/** WHATWG's parser converts every spelling of an IP address to the usual one. */
function readTarget(text: string): Target {
  const url = URL.parse(text);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new SendError("refused_address", "This is not an http or https URL.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new SendError("refused_address", "The URL must not contain a user name or password.");
  }
  const hostname = withoutDot(url.hostname.replace(/^\[|\]$/g, ""));
  const is_secure = url.protocol === "https:";
  // Port 0 is a port of its own, not the scheme's.
  const usual_port = is_secure ? 443 : 80;
  const port = url.port === "" ? usual_port : Number(url.port);
  const name = isIP(hostname) === 6 ? `[${hostname}]` : hostname;
  const origin = `${url.protocol}//${name}:${port}`;
  // Without its last dot a name may be none, or an IP address: `foo.1..`, `.`.
  const is_host = URL.parse(origin)?.hostname === name && !name.split(".").includes("");
  if (!is_host) throw new SendError("refused_address", NO_HOST);
  return {
    origin,
    host: port === usual_port ? name : `${name}:${port}`,
    is_secure,
    hostname,
    port,
    path: `${url.pathname}${url.search}`,
  };
}

/**
 * One refused IP address refuses the host: the result must not depend on which of its addresses is
 * tried first. The message does not contain what a name resolves to: that would reveal the internal
 * network to the caller.
 */
async function findAddresses(
  policy: AddressPolicy,
  resolve: ResolveHost,
  hostname: string,
  port: number,
): Promise<string[]> {
  const addresses = isIP(hostname) === 0 ? await ask(resolve, hostname) : [hostname];
  for (const address of addresses) {
    const reason = policy.refuse(hostname, address, port);
    if (reason) throw new SendError("refused_address", `${hostname} ${reason}.`);
  }
  return addresses;
}

async function ask(resolve: ResolveHost, hostname: string): Promise<string[]> {
  const addresses = await resolve(hostname).catch((error: NodeJS.ErrnoException) => {
    throw new SendError("dns", `${hostname} could not be resolved (${error.code ?? "failed"}).`);
  });
  if (addresses.length === 0) throw new SendError("dns", `${hostname} has no address.`);
  return addresses;
}
