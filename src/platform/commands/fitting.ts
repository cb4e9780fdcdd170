import { LruMap } from "../lru-map.ts";

const ACCOUNTS_MAX = 10_000;

/**
 * How many commands of an account fitted into its last set that put some of them off. A set loads
 * what it then puts off: the next one takes no more than fitted, then twice as many. Per account,
 * however many senders it has.
 */
export class Fitting {
  readonly #counts = new LruMap<string, number>(ACCOUNTS_MAX);
  readonly #set_max: number;

  /** As many as a set can have: an account with so many is not limited. */
  constructor(set_max: number) {
    this.#set_max = set_max;
  }

  countMax(account_id: string): number {
    return this.#counts.get(account_id) ?? this.#set_max;
  }

  note(account_id: string, answered: number, put_off: number): void {
    // It was another account's answers that filled the set.
    if (answered === 0) return;
    if (put_off > 0) this.#counts.set(account_id, answered);
    else this.#raise(account_id, answered * 2);
  }

  /** A set that had room for less than is noted says nothing. */
  #raise(account_id: string, count: number): void {
    if (count <= this.countMax(account_id)) return;
    if (count < this.#set_max) this.#counts.set(account_id, count);
    else this.#counts.delete(account_id);
  }
}
