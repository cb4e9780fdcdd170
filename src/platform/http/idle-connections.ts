import type { Socket } from "node:net";

/** Each takes a file descriptor, of which a process may have a few thousand. */
const STRANGERS_MAX = 1_000;
const ACCOUNTS_MAX = 2_000;

type IdleConnections = {
  /** Has no request, or none any more. */
  add(socket: Socket, name: string, is_account: boolean): void;
  /** Has a request, or is closed. */
  delete(socket: Socket): void;
};

/**
 * Connections that wait for a request, the first or the next one. Above the limit the oldest of
 * whoever has most is closed; accounts and networks without one have limits of their own. Without a
 * limit, whoever opens thousands and sends nothing would leave no file descriptors for others, the
 * database and files.
 */
export function createIdleConnections(
  strangers_max: number = STRANGERS_MAX,
  accounts_max: number = ACCOUNTS_MAX,
): IdleConnections {
  const strangers = new IdleGroup(strangers_max);
  const accounts = new IdleGroup(accounts_max);
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
  readonly #names = new Map<Socket, string>();
  /** In the order in which they became idle. */
  readonly #by_name = new Map<string, Set<Socket>>();

  constructor(max: number) {
    this.#max = max;
  }

  add(socket: Socket, name: string): void {
    this.#names.set(socket, name);
    const own = this.#by_name.get(name) ?? new Set();
    own.add(socket);
    this.#by_name.set(name, own);
    if (this.#names.size > this.#max) this.#closeOne();
  }

  delete(socket: Socket): void {
    const name = this.#names.get(socket);
    if (name === undefined) return;
    this.#names.delete(socket);
    const own = this.#by_name.get(name)!;
    own.delete(socket);
    if (own.size === 0) this.#by_name.delete(name);
  }

  #closeOne(): void {
    let most = new Set<Socket>();
    for (const own of this.#by_name.values()) if (own.size > most.size) most = own;
    const [oldest] = most;
    this.delete(oldest!);
    oldest!.destroy();
  }
}
