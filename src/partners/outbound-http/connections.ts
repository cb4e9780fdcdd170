import { connect as connectPlain, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import type { buildConnector } from "undici";
// Not the whole package: that would cost 15 MB more, and put its own agent under our `fetch`.
import Client from "undici/lib/dispatcher/client.js";
import { SendError } from "./send-error.ts";
import { skipContinue } from "./skip-continue.ts";

/** Where a request goes. The origin alone decides which connections can carry it. */
export type Target = {
  origin: string;
  is_secure: boolean;
  hostname: string;
  port: number;
  path: string;
};

/** One connection, which carries one request at a time. */
export type Connection = {
  origin: string;
  client: Client;
  is_open: boolean;
  /** It has carried a request before: the other side may close it just as the next one leaves. */
  is_used: boolean;
  /** A request went out, and no answer to it has begun. */
  awaits_answer: boolean;
};

type ConnectionRules = {
  /** Hands out addresses that passed the check, and no others. */
  lookupFor: (port: number) => LookupFunction;
  /** Until a connection stands: name, TCP and TLS together. */
  connect_timeout_ms: number;
};

const HEADER_BYTES_MAX = 16 * 1024;
const IDLE_CONNECTION_MS = 10_000;
/** Given up this long before the other side says that it will close it. */
const IDLE_MARGIN_MS = 1_000;
const NEXT_ADDRESS_MS = 1_000;

/** The connections that wait for the next request to the same origin, the latest first. */
export class Connections {
  readonly #rules: ConnectionRules;
  readonly #idle = new Map<string, Connection[]>();
  readonly #all = new Set<Connection>();

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
  }

  /** A kept connection, or a new one where none is free. */
  take(target: Target): Connection {
    return this.#idle.get(target.origin)?.pop() ?? this.open(target);
  }

  open(target: Target): Connection {
    const states = { is_open: false, is_used: false, awaits_answer: false };
    const client = new Client(target.origin, {
      connect: this.#connectorOf(target, states),
      pipelining: 1,
      maxHeaderSize: HEADER_BYTES_MAX,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
      // The whole exchange has a limit of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    });
    const connection: Connection = Object.assign(states, { origin: target.origin, client });
    client.on("connect", () => {
      connection.is_open = true;
    });
    client.on("disconnect", () => {
      connection.is_open = false;
      connection.is_used = false;
      const idle = this.#idle.get(target.origin) ?? [];
      const at = idle.indexOf(connection);
      if (at < 0) return;
      idle.splice(at, 1);
      if (idle.length === 0) this.#idle.delete(target.origin);
      this.end(connection);
    });
    this.#all.add(connection);
    return connection;
  }

  /** The answer is complete: the next request may use the connection. */
  keep(connection: Connection): void {
    if (!connection.is_open) {
      this.end(connection);
      return;
    }
    connection.is_used = true;
    const idle = this.#idle.get(connection.origin);
    if (idle) idle.push(connection);
    else this.#idle.set(connection.origin, [connection]);
  }

  end(connection: Connection): void {
    this.#all.delete(connection);
    void connection.client.destroy();
  }

  close(): void {
    for (const connection of this.#all) this.end(connection);
    this.#idle.clear();
  }

  #connectorOf(target: Target, exchange: { awaits_answer: boolean }): buildConnector.connector {
    return (_options, callback) => {
      const socket = this.#connect(target);
      const timer = setTimeout(
        () => socket.destroy(new SendError("timeout", "No connection was made in time.")),
        this.#rules.connect_timeout_ms,
      );
      const fail = (error: Error) => {
        clearTimeout(timer);
        callback(error, null);
      };
      socket.once("error", fail);
      socket.once(target.is_secure ? "secureConnect" : "connect", () => {
        clearTimeout(timer);
        socket.off("error", fail);
        skipContinue(socket, exchange, HEADER_BYTES_MAX);
        callback(null, socket);
      });
    };
  }

  /** To the name that was asked for, over an address that was checked. */
  #connect({ is_secure, hostname, port }: Target): Socket {
    const options = {
      host: hostname,
      port,
      lookup: this.#rules.lookupFor(port),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
      noDelay: true,
    };
    if (!is_secure) return connectPlain(options);
    const servername = isIP(hostname) === 0 ? hostname : "";
    return connectSecure({
      ...options,
      servername,
      ALPNProtocols: ["http/1.1"],
      rejectUnauthorized: true,
    });
  }
}
