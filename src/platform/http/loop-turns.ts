type Turn = { begin: () => void; place: number };

/**
 * Begins so much of what waits in each turn of the event loop: everything else that has arrived,
 * such as answers of the database, is processed in between. Senders take turns.
 */
export class LoopTurns {
  readonly #per_turn: number;
  /** In the order of their turns. */
  readonly #waiting = new Map<string, Set<Turn>>();
  #left: number;
  #places = 0;
  #is_scheduled = false;

  constructor(per_turn: number) {
    this.#per_turn = per_turn;
    this.#left = per_turn;
  }

  /** For whoever waits several times and comes before those of its sender who arrived later. */
  takePlace(): number {
    this.#places += 1;
    return this.#places;
  }

  /** Whoever need not begin any more calls what this returns: true if it has not begun. */
  wait(sender: string, begin: () => void, place = this.takePlace()): () => boolean {
    this.#schedule();
    if (this.#left > 0) {
      this.#left -= 1;
      begin();
      return () => false;
    }
    const own = this.#waiting.get(sender) ?? new Set();
    const turn = { begin, place };
    this.#waiting.set(sender, own.add(turn));
    return () => {
      const is_waiting = own.delete(turn);
      if (is_waiting && own.size === 0) this.#waiting.delete(sender);
      return is_waiting;
    };
  }

  #schedule(): void {
    if (this.#is_scheduled) return;
    this.#is_scheduled = true;
    setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    this.#is_scheduled = false;
    this.#left = this.#per_turn;
    const begun: Turn[] = [];
    for (const [sender, own] of this.#waiting) {
      if (begun.length === this.#per_turn) break;
      const first = firstOf(own);
      begun.push(first);
      own.delete(first);
      this.#waiting.delete(sender);
      // Iteration comes to it again after all others.
      if (own.size > 0) this.#waiting.set(sender, own);
    }
    if (begun.length > 0) this.#schedule();
    this.#left -= begun.length;
    for (const { begin } of begun) begin();
  }
}

function firstOf(own: ReadonlySet<Turn>): Turn {
  let [first] = own;
  for (const turn of own) if (turn.place < first!.place) first = turn;
  return first!;
}
