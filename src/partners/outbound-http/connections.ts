import { Connection, type ConnectionRules, type Target } from "./connection.ts";
import { SendError } from "./send-error.ts";

const IDLE_MAX_MS = 10_000;
/** Given up this long before the other side says that it will close it. */
const IDLE_MARGIN_MS = 1_000;
const IDLE_PER_ORIGIN_MAX = 64;
const SWEEP_MS = 2_000;
const ANNOUNCED_SECONDS = /\btimeout=(\d{1,6})\b/i;

/** The connections that wait for the next request to the same origin, the latest first. */
export class Connections {
  readonly #rules: ConnectionRules;
  readonly #idle = new Map<string, Connection[]>();
  readonly #all = new Set<Connection>();
  #sweeper: NodeJS.Timeout | null = null;

  constructor(rules: ConnectionRules) {
    this.#rules = rules;
  }

  /** A kept connection, or a new one where none is free. */
  take(target: Target): Connection {
    const idle = this.#idle.get(target.origin);
    for (let kept = idle?.pop(); kept; kept = idle?.pop()) {
      if (performance.now() < kept.idle_until_ms && kept.is_reusable) return kept;
      this.end(kept);
    }
    return this.open(target);
  }

  open(target: Target): Connection {
    const connection = new Connection(target, this.#rules, (ended) => this.#drop(ended));
    this.#all.add(connection);
    return connection;
  }

  /** The answer is complete: the next request may use the connection, if both sides agree. */
  keep(connection: Connection, keep_alive = ""): void {
    const [, seconds] = ANNOUNCED_SECONDS.exec(keep_alive) ?? [];
    const announced_ms = seconds ? Number(seconds) * 1000 - IDLE_MARGIN_MS : IDLE_MAX_MS;
    const idle_ms = Math.min(announced_ms, IDLE_MAX_MS);
    const idle = this.#idle.get(connection.origin) ?? [];
    if (!connection.is_reusable || idle_ms <= 0 || idle.length >= IDLE_PER_ORIGIN_MAX) {
      this.end(connection);
      return;
    }
    connection.release();
    connection.idle_until_ms = performance.now() + idle_ms;
    idle.push(connection);
    this.#idle.set(connection.origin, idle);
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  end(connection: Connection): void {
    this.#all.delete(connection);
    connection.destroy();
  }

  close(): void {
    const closed = new SendError("connect", "The sender was closed.");
    for (const connection of this.#all) connection.fail(closed);
    this.#all.clear();
    this.#idle.clear();
    this.#stopSweeping();
  }

  #drop(connection: Connection): void {
    const idle = this.#idle.get(connection.origin);
    const at = idle?.indexOf(connection) ?? -1;
    if (idle && at >= 0) idle.splice(at, 1);
    this.end(connection);
  }

  #sweep(): void {
    const now_ms = performance.now();
    for (const [origin, idle] of this.#idle) {
      const [kept, over] = [[], []] as [Connection[], Connection[]];
      for (const one of idle) (now_ms < one.idle_until_ms ? kept : over).push(one);
      for (const one of over) this.end(one);
      if (kept.length === 0) this.#idle.delete(origin);
      else this.#idle.set(origin, kept);
    }
    if (this.#idle.size === 0) this.#stopSweeping();
  }

  #stopSweeping(): void {
    if (this.#sweeper) clearInterval(this.#sweeper);
    this.#sweeper = null;
  }
}
