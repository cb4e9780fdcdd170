import type { Socket } from "node:net";
import { MINUTE_MS } from "../../platform/durations.ts";
import { createAccountTurns } from "../../platform/http/account-turns.ts";
import { LruMap } from "../../platform/lru-map.ts";
import { SendError } from "./send-error.ts";

/** About fifty certificates that are merely wrong, or eight that are as large as possible. */
const BYTES_MAX = 128 * 1024;
/** Of one account; connections are kept, so that few have to be opened. */
const AT_ONCE_MAX = 8;
const ACCOUNTS_MAX = 1_000;
const TOO_MANY = "Too many TLS connections failed within a minute.";

/**
 * Limits what TLS handshakes that fail may cost, by account. OpenSSL checks every signature of a
 * chain that it has already refused, in the thread that answers requests, and the server chooses
 * the keys and names: each 16 KB of certificates can take more than a tenth of a second.
 */
export class HandshakeBudget {
  readonly #inTurn: ReturnType<typeof createAccountTurns>;
  #minute = 0;
  #wasted = new LruMap<string, number>(ACCOUNTS_MAX);

  constructor(wait_max_ms: number) {
    this.#inTurn = createAccountTurns(AT_ONCE_MAX, wait_max_ms);
  }

  /** Closes the connection if there is no handshake, and counts what a failed one received. */
  async run<Result>(
    account_id: string,
    plain: Socket,
    handshake: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await this.#inTurn(account_id, async () => {
        if (this.#wastedBy(account_id) >= BYTES_MAX) throw new SendError("connect", TOO_MANY);
        return handshake();
      });
    } catch (error) {
      this.waste(account_id, plain.bytesRead);
      plain.destroy();
      throw error;
    }
  }

  /** Also what a server sent after its handshake without need. */
  waste(account_id: string, bytes: number): void {
    this.#wasted.set(account_id, this.#wastedBy(account_id) + bytes);
  }

  #wastedBy(account_id: string): number {
    const minute = Math.floor(performance.now() / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#wasted = new LruMap(ACCOUNTS_MAX);
    }
    return this.#wasted.get(account_id) ?? 0;
  }
}
