/** Reads a body until its grant is used up; pauses until it has the next one. */
export type Drained = {
  sender: string;
  /** How much it may read at once. */
  granted: (bytes: number) => void;
};

type Limits = { grant_bytes: number; grants: number; every_ms: number };

const LIMITS: Limits = { grant_bytes: 64 * 1024, grants: 32, every_ms: 50 };

/**
 * What all refused bodies together may send: 40 MiB a second. Reading and discarding what arrives
 * takes the one thread that answers everybody: with hundreds of refused uploads at once, all of
 * its time. Senders take turns. Of one sender's, bodies that were begun come first, so that as
 * many as possible are read completely.
 */
export class DrainTurns {
  readonly #limits: Limits;
  /** In the order of the senders' turns; of each, in the order of arrival. */
  readonly #waiting = new Map<string, Drained[]>();
  #left: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits = LIMITS) {
    this.#limits = limits;
    this.#left = limits.grants;
  }

  /** A body that was begun comes before the others of its sender. */
  wait(drained: Drained, is_begun: boolean): void {
    const own = this.#waiting.get(drained.sender) ?? [];
    if (is_begun) own.unshift(drained);
    else own.push(drained);
    this.#waiting.set(drained.sender, own);
    this.#grant();
  }

  leave(drained: Drained): void {
    const own = this.#waiting.get(drained.sender) ?? [];
    const at = own.indexOf(drained);
    if (at >= 0) own.splice(at, 1);
    if (own.length === 0) this.#waiting.delete(drained.sender);
  }

  #grant(): void {
    for (const [sender, [next]] of this.#waiting) {
      if (this.#left === 0) break;
      this.#left -= 1;
      const own = this.#waiting.get(sender)!;
      own.shift();
      // The others come before the next one of this sender.
      this.#waiting.delete(sender);
      if (own.length > 0) this.#waiting.set(sender, own);
      next!.granted(this.#limits.grant_bytes);
    }
    if (this.#left < this.#limits.grants) this.#refillLater();
  }

  #refillLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#left = this.#limits.grants;
      this.#grant();
    }, this.#limits.every_ms).unref();
  }
}
