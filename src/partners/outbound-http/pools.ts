import type { Socket } from "node:net";
import { type Dispatcher, Pool } from "undici";
import { LruMap } from "../../platform/lru-map.ts";
import type { Connect } from "./connect.ts";
import type { Exchange } from "./exchange.ts";
import type { Target } from "./outbound-request.ts";
import { SendError } from "./send-error.ts";
import { limitReceived } from "./wire-limit.ts";

const IDLE_MAX_MS = 10_000;
/** Closed this long before the time at which the other side announced to close it. */
const IDLE_MARGIN_MS = 1_000;
const HEADERS_BYTES_MAX = 16 * 1024;
/** Connections of all accounts; above three quarters, idle ones are closed. */
const CONNECTIONS_MAX = 4_000;
const CLOSE_IDLE_FROM = (CONNECTIONS_MAX * 3) / 4;
const BY_NODE_MAX = 1_000;
const PART_BYTES_MAX = 1024;

/** One origin on behalf of one account, for answers up to a size. */
type Destination = { target: Target; account_id: string; answer_bytes_max: number; key: string };

export function destinationOf(
  target: Target,
  account_id: string,
  answer_bytes_max: number,
): Destination {
  const key = `${account_id} ${target.origin} ${answer_bytes_max}`;
  return { target, account_id, answer_bytes_max, key };
}

/** Keeps connections, separately for each destination, up to a limit. */
export class Pools {
  readonly #connect: Connect;
  readonly #pools = new Map<string, Pool>();
  readonly #by_node = new LruMap<string, true>(BY_NODE_MAX);
  readonly #single = new Set<Socket>();
  readonly #connections_max: number;
  #open_count = 0;
  #is_new = false;

  constructor(connect: Connect, connections_max = CONNECTIONS_MAX) {
    this.#connect = connect;
    this.#connections_max = connections_max;
  }

  dispatch(destination: Destination, options: Dispatcher.DispatchOptions, handler: Exchange): void {
    const { key } = destination;
    // Later in this turn of the event loop: by then a connection whose answer has just ended is
    // free, and no new one is opened.
    setImmediate(() => {
      try {
        const pool = this.#pools.get(key) ?? this.#openPool(destination);
        pool.dispatch(options, handler);
      } catch (error) {
        // Nobody else would catch it here: it would end the process.
        handler.fail(error);
      }
    });
  }

  /** Asked when a request is written: whether its connection was opened for it. */
  readonly isNew = (): boolean => this.#is_new;

  needsNode(destination: Destination): boolean {
    return this.#by_node.get(destination.key) ?? false;
  }

  /** undici cannot read the answers from there: Node's client is used from now on. */
  useNode(destination: Destination): void {
    this.#by_node.set(destination.key, true);
  }

  /** A connection for one request: the caller closes it. */
  async openOne(destination: Destination): Promise<Socket> {
    const socket = await this.#open(destination);
    this.#single.add(socket);
    return socket.once("close", () => this.#single.delete(socket));
  }

  /** Requests in progress fail with this error. */
  close(error: Error): void {
    for (const pool of this.#pools.values()) void pool.destroy(error);
    this.#pools.clear();
    for (const socket of this.#single) socket.destroy(error);
  }

  #openPool(destination: Destination): Pool {
    const { key } = destination;
    const pool = new Pool(destination.target.origin, {
      connect: (_options, callback) => {
        this.#open(destination).then(
          (socket) => {
            // The waiting request is written before the callback returns.
            this.#is_new = true;
            callback(null, readInParts(socket, destination.answer_bytes_max));
            this.#is_new = false;
          },
          (error) => callback(error, null),
        );
      },
      // One per request in progress: the sender limits their number.
      connections: null,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: IDLE_MAX_MS,
      keepAliveMaxTimeout: IDLE_MAX_MS,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
      maxHeaderSize: HEADERS_BYTES_MAX,
      // Our own timer covers the whole request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const dropUnused = () => {
      if (this.#pools.get(key) !== pool || pool.stats.size > 0 || pool.stats.connected > 0) return;
      this.#pools.delete(key);
      void pool.destroy();
    };
    pool.on("disconnect", dropUnused).on("connectionError", dropUnused);
    this.#pools.set(key, pool);
    return pool;
  }

  async #open({ target, account_id }: Destination): Promise<Socket> {
    if (this.#open_count >= Math.min(CLOSE_IDLE_FROM, this.#connections_max)) this.#closeIdle();
    if (this.#open_count >= this.#connections_max) {
      throw new SendError("connect", "Too many connections are open.");
    }
    this.#open_count += 1;
    try {
      const socket = await this.#connect(target, account_id);
      return socket.once("close", () => {
        this.#open_count -= 1;
      });
    } catch (error) {
      this.#open_count -= 1;
      throw error;
    }
  }

  #closeIdle(): void {
    for (const [key, pool] of this.#pools) {
      if (pool.stats.size > 0) continue;
      this.#pools.delete(key);
      void pool.destroy();
    }
  }
}

/**
 * undici parses all that a read returns, and does not stop at headers that are too large: it makes
 * an error for each one after that. In small parts it ends with the part in which it gave up.
 */
function readInParts(socket: Socket, answer_bytes_max: number): Socket {
  const read = socket.read.bind(socket);
  const count = limitReceived(socket, answer_bytes_max);
  return Object.assign(socket, {
    read: (bytes?: number) => {
      if (socket.destroyed) return null;
      const { readableLength } = socket;
      const part = read(bytes ?? (readableLength > PART_BYTES_MAX ? PART_BYTES_MAX : undefined));
      if (part !== null) count(part.length);
      return part;
    },
  });
}
