import { connect as connectPlain, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectSecure } from "node:tls";
import { type AnswerListener, AnswerParser } from "./answer-parser.ts";
import { SendError } from "./send-error.ts";

/** Where a request goes. The origin alone decides which connections can carry it. */
export type Target = {
  origin: string;
  is_secure: boolean;
  hostname: string;
  port: number;
  /** As the request names it. */
  host: string;
  path: string;
};

/** A request as it is written. */
export type Message = { head: string; body: Buffer | null };

/** Who sent a request, and hears what comes of it. */
export type Listener = AnswerListener & {
  /** The connection stands, and the request is on its way. */
  onSent(): void;
  /** Something came back. */
  onFirstByte(): void;
  /** The connection cannot be used any more; nothing follows. */
  onFailure(error: unknown): void;
};

export type ConnectionRules = {
  /** Hands out addresses that passed the check, and no others. */
  lookupFor: (port: number) => LookupFunction;
  /** Until a connection stands: name, TCP and TLS together. */
  connect_timeout_ms: number;
};

const NEXT_ADDRESS_MS = 1_000;

/** One connection, which carries one request at a time. */
export class Connection {
  readonly origin: string;
  /** It has carried a request before: the other side may close it just as the next one leaves. */
  is_used = false;
  /** By `performance.now()`: until then it can wait for the next request. */
  idle_until_ms = 0;
  readonly #socket: Socket;
  readonly #onIdleEnd: (connection: Connection) => void;
  #is_connected = false;
  #message: Message | null = null;
  #listener: Listener | null = null;
  #parser: AnswerParser | null = null;

  /** `onIdleEnd` is called when it ends and nobody waits for an answer. */
  constructor(target: Target, rules: ConnectionRules, onIdleEnd: (connection: Connection) => void) {
    this.origin = target.origin;
    this.#onIdleEnd = onIdleEnd;
    this.#socket = connectTo(target, rules);
    const timer = setTimeout(() => {
      this.fail(new SendError("timeout", "No connection was made in time."));
    }, rules.connect_timeout_ms);
    this.#socket
      .once(target.is_secure ? "secureConnect" : "connect", () => {
        clearTimeout(timer);
        this.#is_connected = true;
        this.#write();
      })
      .on("data", (chunk: Buffer) => this.#read(chunk))
      .on("end", () => this.#end())
      .on("error", (error) => this.fail(error))
      .once("close", () => {
        clearTimeout(timer);
        this.#end();
      });
  }

  send(message: Message, listener: Listener): void {
    this.#message = message;
    this.#listener = listener;
    this.#parser = null;
    if (this.#is_connected) this.#write();
  }

  /** The request is written and its answer complete; nothing speaks against another one. */
  get is_reusable(): boolean {
    const { destroyed, writableLength } = this.#socket;
    return this.#parser?.is_reusable === true && !destroyed && writableLength === 0;
  }

  /** Whoever sent the last request hears nothing more of the connection. */
  release(): void {
    this.#listener = null;
    this.is_used = true;
    // Its reader may be behind; whether the other side closes must be seen all the same.
    if (this.#socket.isPaused()) this.#socket.resume();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends it; nobody is told. */
  destroy(): void {
    this.#listener = null;
    this.#socket.destroy();
  }

  /** Ends it, and tells whoever waits for an answer. */
  fail(error: unknown): void {
    const listener = this.#listener;
    this.destroy();
    if (listener) listener.onFailure(error);
    else this.#onIdleEnd(this);
  }

  #write(): void {
    const [message, listener] = [this.#message, this.#listener];
    this.#message = null;
    if (!message || !listener) return;
    listener.onSent();
    this.#socket.cork();
    this.#socket.write(message.head, "latin1");
    if (message.body) this.#socket.write(message.body);
    this.#socket.uncork();
  }

  #read(chunk: Buffer): void {
    const listener = this.#listener;
    if (!listener) {
      // Nobody asked: what comes now would be taken for the answer to the next request.
      this.fail(new SendError("protocol", "Something came that was not asked for."));
      return;
    }
    try {
      if (!this.#parser) {
        this.#parser = new AnswerParser(listener);
        listener.onFirstByte();
      }
      this.#parser.feed(chunk);
    } catch (error) {
      this.fail(error);
    }
  }

  #end(): void {
    if (!this.#listener) this.#onIdleEnd(this);
    else if (!this.#parser?.end()) this.fail(new ClosedError());
  }
}

/** The other side closed the connection, properly but too early. */
class ClosedError extends Error {
  readonly code = "ECONNRESET";
}

/** To the name that was asked for, over an address that was checked. */
function connectTo({ is_secure, hostname, port }: Target, rules: ConnectionRules): Socket {
  const options = {
    host: hostname,
    port,
    lookup: rules.lookupFor(port),
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
