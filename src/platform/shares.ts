/**
 * Counts what all accounts use together, such as the places of a queue. An account may use as much
 * as it leaves free, and the first place while any is free: however many accounts use all that they
 * can, something is left for the next one. One account alone uses at most half, or more where it
 * may use several times what it leaves free.
 */
export class Shares {
  readonly #total: number;
  readonly #own_max: number;
  readonly #used_to_free: number;
  readonly #used = new Map<string, number>();
  #sum = 0;

  constructor(total: number, own_max: number = total, used_to_free = 1) {
    this.#total = total;
    this.#own_max = own_max;
    this.#used_to_free = used_to_free;
  }

  get sum(): number {
    return this.#sum;
  }

  of(account_id: string): number {
    return this.#used.get(account_id) ?? 0;
  }

  has(account_id: string, amount = 1): boolean {
    const own = this.of(account_id);
    const left = this.#total - this.#sum - amount;
    // Nothing is too large while nothing else is there.
    if (own === 0) return left >= 0 || this.#sum === 0;
    return own + amount <= Math.min(this.#own_max, left * this.#used_to_free);
  }

  /** False if the account has used its share. */
  take(account_id: string, amount = 1): boolean {
    if (!this.has(account_id, amount)) return false;
    this.add(account_id, amount);
    return true;
  }

  /** Counts what was begun in any case. */
  add(account_id: string, amount = 1): void {
    this.#used.set(account_id, this.of(account_id) + amount);
    this.#sum += amount;
  }

  leave(account_id: string, amount = 1): void {
    const left = this.of(account_id) - amount;
    this.#sum -= amount;
    if (left > 0) this.#used.set(account_id, left);
    else this.#used.delete(account_id);
  }

  clear(): void {
    this.#used.clear();
    this.#sum = 0;
  }
}
