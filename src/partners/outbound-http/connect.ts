import { constants } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectSecure, DEFAULT_CIPHERS, type TLSSocket } from "node:tls";
import { LruMap } from "../../platform/lru-map.ts";
import { HandshakeBudget } from "./handshake-budget.ts";
import type { Target } from "./outbound-request.ts";
import { SendError } from "./send-error.ts";
import { TlsWire } from "./tls-wire.ts";

type ConnectRules = {
  /** The allowed IP addresses of a host; throws if any of its addresses is refused. */
  findAddresses: (hostname: string, port: number) => Promise<string[]>;
  /** Whether an IP address is this machine: it is connected to without the proxy. */
  isLoopback: (address: string) => boolean;
  /** Limit for the whole connection setup: name, TCP, proxy and TLS together. */
  connect_timeout_ms: number;
  proxy_url: URL | null;
};

/** Opens a connection to the target at an IP address that was checked. */
export type Connect = (target: Target, account_id: string) => Promise<Socket>;

const NEXT_ADDRESS_MS = 1_000;
const SESSIONS_MAX = 1_000;
/**
 * Without DHE, where the server chooses the size of the numbers: with those of 10,000 bits each
 * handshake would stop this thread for a second, before the certificate is looked at.
 */
const CIPHERS = `${DEFAULT_CIPHERS}:!kDHE`;

/**
 * The only place that opens connections and checks IP addresses. It connects to the checked
 * addresses and never resolves the name again, so that a name server cannot bypass the check by
 * changing its answer. TLS sessions are resumed, separately for each account.
 */
export function createConnect(rules: ConnectRules): Connect {
  const sessions = new LruMap<string, Buffer>(SESSIONS_MAX);
  const budget = new HandshakeBudget(rules.connect_timeout_ms);
  return async (target, account_id) => {
    const session_key = `${account_id} ${target.origin}`;
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), rules.connect_timeout_ms);
    try {
      const plain = await withSignal(openPlain(rules, target, ending.signal), ending.signal);
      if (!target.is_secure) return plain;
      const securing = budget.run(account_id, plain, () => {
        const wire = new TlsWire(plain);
        const secure = openSecure(wire, target, sessions.get(session_key));
        secure.on("session", (session) => sessions.set(session_key, session));
        secure.once("secureConnect", () => wire.count(secure));
        wire.once("close", () => budget.waste(account_id, wire.wasted));
        return connected(secure, "secureConnect", ending.signal);
      });
      return await withSignal(securing, ending.signal);
    } catch (error) {
      if (!ending.signal.aborted) throw error;
      throw new SendError("timeout", "The connection timed out.");
    } finally {
      clearTimeout(timer);
    }
  };
}

async function openPlain(rules: ConnectRules, target: Target, signal: AbortSignal) {
  const { hostname, port } = target;
  const addresses = await rules.findAddresses(hostname, port);
  signal.throwIfAborted();
  if (rules.proxy_url && !addresses.every(rules.isLoopback)) {
    // A name with both kinds would make the proxy connect to its own machine.
    if (addresses.some(rules.isLoopback)) {
      throw new SendError("refused_address", `${hostname} is not a public address.`);
    }
    return openThroughProxy(rules.proxy_url, addresses, port, signal);
  }
  const socket = connectPlain({
    host: hostname,
    port,
    lookup: answering(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    noDelay: true,
  });
  return connected(socket, "connect", signal);
}

/** A lookup that returns these addresses without a query. */
function answering(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, { all }, callback) => {
    if (all) callback(null, found);
    else callback(null, found[0]!.address, found[0]!.family);
  };
}

/** Sends the proxy an IP address, not the name: it must not resolve it to another one. */
async function openThroughProxy(
  proxy_url: URL,
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  let failed: unknown;
  for (const address of addresses) {
    try {
      return await askProxy(
        proxy_url,
        isIP(address) === 6 ? `[${address}]` : address,
        port,
        signal,
      );
    } catch (error) {
      failed = error;
      if (signal.aborted) break;
    }
  }
  throw failed;
}

async function askProxy(proxy_url: URL, host: string, port: number, signal: AbortSignal) {
  const authority = `${host}:${port}`;
  const { hostname, username, password, protocol } = proxy_url;
  const proxy_port = Number(proxy_url.port) || (protocol === "https:" ? 443 : 80);
  const proxy_host = hostname.replace(/^\[|\]$/g, "");
  const to_proxy = connectPlain({ host: proxy_host, port: proxy_port, noDelay: true });
  const is_secure = protocol === "https:";
  const socket = is_secure ? openSecure(to_proxy, { hostname: proxy_host }) : to_proxy;
  await connected(socket, is_secure ? "secureConnect" : "connect", signal);
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const headers: Record<string, string> = { host: authority };
  if (credentials !== ":") {
    headers["proxy-authorization"] = `Basic ${Buffer.from(credentials).toString("base64")}`;
  }
  const outgoing = request({
    method: "CONNECT",
    path: authority,
    headers,
    createConnection: () => socket,
    signal,
  });
  outgoing.end();
  // Rejects on "error".
  const [answer, , head] = await once(outgoing, "connect");
  if (answer.statusCode !== 200 || head.length > 0) {
    socket.destroy();
    throw new SendError("connect", `The outbound proxy answered ${answer.statusCode}.`);
  }
  return socket;
}

function openSecure(
  socket: Duplex,
  { hostname }: { hostname: string },
  session?: Buffer,
): TLSSocket {
  return connectSecure({
    socket,
    servername: isIP(hostname) === 0 ? hostname : "",
    // The certificate is checked against this if there is no name to send.
    host: hostname,
    ALPNProtocols: ["http/1.1"],
    ciphers: CIPHERS,
    // A server could ask for one handshake after the other, milliseconds of this thread each.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    rejectUnauthorized: true,
    ...(session ? { session } : {}),
  });
}

async function connected<Kind extends Socket>(
  socket: Kind,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<Kind> {
  // From the beginning: of two errors in one turn `once` hears the first, and an error that nobody
  // hears ends the process. Later the socket has no other listener until its next owner adds one.
  socket.on("error", () => {});
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** A resolver may never answer. */
function withSignal<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return Promise.race([
    work,
    once(signal, "abort").then(() => {
      throw signal.reason;
    }),
  ]);
}
