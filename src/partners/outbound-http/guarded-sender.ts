import { isIP, type LookupFunction } from "node:net";
import { LruMap } from "../../platform/lru-map.ts";
import {
  type AddressPolicy,
  type AddressRules,
  createAddressPolicy,
  withoutDot,
} from "./address-policy.ts";
import type { Message, Target } from "./connection.ts";
import { Connections } from "./connections.ts";
import { exchange } from "./exchange.ts";
import type { OutboundAnswer, OutboundFailure, OutboundRequest } from "./outbound-request.ts";
import { createResolveHost, type ResolveHost } from "./resolve-host.ts";
import { SendError } from "./send-error.ts";
import { writeRequest } from "./write-request.ts";

export type GuardedSenderOptions = AddressRules & {
  /** Until a connection stands: name, TCP and TLS together. */
  connect_timeout_ms?: number;
  /** From the call to the last byte of the answer. */
  whole_timeout_ms?: number;
  resolve?: ResolveHost;
};

export type GuardedSender = {
  send(request: OutboundRequest): Promise<OutboundAnswer | OutboundFailure>;
  /** Why an address could not be sent to, as far as its text tells; null when it could. */
  refuse(url: string): string | null;
  /** Ends all connections; what is under way fails. */
  close(): void;
};

type Sender = {
  /** Throws where the address cannot be sent to. */
  targetOf: (url: string) => Target;
  whole_timeout_ms: number;
  connections: Connections;
};

const CONNECT_TIMEOUT_MS = 5_000;
const WHOLE_TIMEOUT_MS = 15_000;
const TARGETS_CACHED_MAX = 1_000;

/**
 * The one way out for requests to addresses that others typed in: webhook and document URLs.
 *
 * The check stands where the connection is made. A literal address is checked before its first
 * request; a name is resolved by our own lookup, which hands Node only addresses that passed, and
 * Node connects to those without asking again: a name server that changes its answer wins nothing.
 * A kept connection is found again by host and port only, so it leads to an address that was
 * checked for that host. Connections of our own ignore proxy variables.
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
    whole_timeout_ms: options.whole_timeout_ms ?? WHOLE_TIMEOUT_MS,
    connections: new Connections({
      lookupFor: (port) => checkedLookup(policy, resolve, port),
      connect_timeout_ms: options.connect_timeout_ms ?? CONNECT_TIMEOUT_MS,
    }),
  };
  return {
    send: (request) => send(sender, request),
    refuse: (url) => {
      try {
        const { hostname, port } = readTarget(policy, url);
        const reason = isIP(hostname) === 0 ? policy.refuseName(hostname, port) : null;
        return reason && `${hostname} ${reason}.`;
      } catch (error) {
        if (error instanceof SendError) return error.message;
        throw error;
      }
    },
    close: () => sender.connections.close(),
  };
}

function send(
  { targetOf, connections, whole_timeout_ms }: Sender,
  request: OutboundRequest,
): Promise<OutboundAnswer | OutboundFailure> {
  let target: Target;
  let message: Message;
  try {
    target = targetOf(request.url);
    message = writeRequest(target, request);
  } catch (error) {
    if (!(error instanceof SendError)) throw error;
    const { failure, message: text } = error;
    return Promise.resolve({ failure, message: text, status: null, body: null });
  }
  const time_ms = request.whole_timeout_ms ?? whole_timeout_ms;
  return exchange(connections, target, message, request, time_ms);
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
  const is_secure = url.protocol === "https:";
  const port = Number(url.port) || (is_secure ? 443 : 80);
  if (isIP(hostname) !== 0) checkAddresses(policy, hostname, [hostname], port);
  const host = isIP(hostname) === 6 ? `[${hostname}]` : hostname;
  const origin = `${url.protocol}//${host}:${port}`;
  const path = `${url.pathname}${url.search}`;
  return { origin, is_secure, hostname, port, host: url.host, path };
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
