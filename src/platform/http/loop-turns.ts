/**
 * Begins so much of what waits in each turn of the event loop: everything else that has arrived,
 * such as answers of the database, is processed in between. Senders take turns.
 */
export class LoopTurns {
  readonly #per_turn: number;
  /** In the order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #left: number;
  #is_scheduled = false;

  constructor(per_turn: number) {
    this.#per_turn = per_turn;
    this.#left = per_turn;
  }

  wait(sender: string, begin: () => void): void {
    if (!this.#is_scheduled) {
      this.#is_scheduled = true;
      setImmediate(() => this.#nextTurn());
    }
    if (this.#left > 0) {
      this.#left -= 1;
      begin();
      return;
    }
    const own = this.#waiting.get(sender);
    if (own) own.push(begin);
    else this.#waiting.set(sender, [begin]);
  }

  #nextTurn(): void {
    this.#is_scheduled = false;
    this.#left = this.#per_turn;
    const begun: (() => void)[] = [];
    for (const [sender, own] of this.#waiting) {
      if (begun.length === this.#per_turn) break;
      begun.push(own.shift()!);
      this.#waiting.delete(sender);
      // Iteration comes to it again after all others.
      if (own.length > 0) this.#waiting.set(sender, own);
    }
    for (const begin of begun) this.wait("", begin);
  }
}
