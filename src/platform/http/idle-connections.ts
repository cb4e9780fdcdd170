import type { Socket } from "node:net";

/** Each takes a file descriptor, of which a process may have a few thousand. */
const STRANGERS_MAX = 3_000;
const ACCOUNTS_MAX = 2_000;
/** So many of one sender are never closed because it has more than others. */
const OWN_MIN = 100;

type IdleConnections = {
  /** Has no request, or none any more. */
  add(socket: Socket, name: string, is_account: boolean): void;
  /** Has a request, or is closed. */
  delete(socket: Socket): void;
};

type Limits = { strangers_max: number; accounts_max: number; own_min: number };
const LIMITS: Limits = {
  strangers_max: STRANGERS_MAX,
  accounts_max: ACCOUNTS_MAX,
  own_min: OWN_MIN,
};

/**
 * Connections that wait for a request, the first or the next one. Above the limit one is closed:
 * the oldest of whoever has most, or of all, if nobody has many. Whose a new connection is says its
 * first request, so many new ones behind one address may be anybody's. Accounts and networks
 * without one have limits of their own. Without a limit, whoever opens thousands and sends nothing
 * would leave no file descriptors for others, the database and files.
 */
export function createIdleConnections(limits: Limits = LIMITS): IdleConnections {
  const strangers = new IdleGroup(limits.strangers_max, limits.own_min);
  const accounts = new IdleGroup(limits.accounts_max, limits.own_min);
  return {
    add(socket, name, is_account) {
      if (socket.destroyed) return;
      (is_account ? accounts : strangers).add(socket, name);
    },
    delete(socket) {
      strangers.delete(socket);
      accounts.delete(socket);
    },
  };
}

class IdleGroup {
  readonly #max: number;
  readonly #own_min: number;
  /** In the order in which they became idle, as are those of each sender. */
  readonly #names = new Map<Socket, string>();
  readonly #by_name = new Map<string, Set<Socket>>();
  /** Those of senders with more than `own_min`: few, however many senders there are. */
  readonly #many = new Set<Set<Socket>>();

  constructor(max: number, own_min: number) {
    this.#max = max;
    this.#own_min = own_min;
  }

  add(socket: Socket, name: string): void {
    this.#names.set(socket, name);
    const own = this.#by_name.get(name) ?? new Set();
    own.add(socket);
    this.#by_name.set(name, own);
    if (own.size > this.#own_min) this.#many.add(own);
    if (this.#names.size > this.#max) this.#closeOne();
  }

  delete(socket: Socket): void {
    const name = this.#names.get(socket);
    if (name === undefined) return;
    this.#names.delete(socket);
    const own = this.#by_name.get(name)!;
    own.delete(socket);
    if (own.size <= this.#own_min) this.#many.delete(own);
    if (own.size === 0) this.#by_name.delete(name);
  }

  #closeOne(): void {
    let most: Set<Socket> | null = null;
    for (const own of this.#many) if (own.size > (most?.size ?? 0)) most = own;
    const [oldest] = most ?? this.#names.keys();
    this.delete(oldest!);
    oldest!.destroy();
  }
}
