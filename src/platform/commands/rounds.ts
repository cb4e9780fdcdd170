/** One that waits, and its place among all that came. */
type Member = { at: number; command: { account_id: string; sender?: string } };

/** Those of one sender, in the order in which they came. */
type Line<One> = { turn: number; members: One[] };
type Account<One> = { turn: number; lines: Map<string, Line<One>> };

/** The sender whose turn it is in an account. */
export type Next<One> = { account: Account<One>; line: Line<One>; members: readonly One[] };

/** What a set took of one account, and the turns that were used for it. */
export type Part<One> = { members: readonly One[]; account_turn: number; line_turn: number };

/**
 * Who is next. Accounts take turns, and within an account its senders. Whoever is taken gets a new
 * turn behind all others. Put back as a whole, it has its old turn again: before those that came
 * later, but never before those that already waited longer.
 */
export class Rounds<One extends Member> {
  readonly #accounts = new Map<string, Account<One>>();
  #turns = 0;

  add(one: One): void {
    this.#linesOf(one).line.members.push(one);
  }

  /** Of each account one sender, in the order of their turns. */
  next(): Next<One>[] {
    const accounts = [...this.#accounts.values()].sort((a, b) => a.turn - b.turn);
    return accounts.map((account) => {
      let line: Line<One> | undefined;
      for (const other of account.lines.values()) {
        if (!line || other.turn < line.turn) line = other;
      }
      return { account, line: line!, members: line!.members };
    });
  }

  take({ account, line }: Next<One>, count: number): Part<One> {
    const used = { account_turn: account.turn, line_turn: line.turn };
    const part = { ...used, members: line.members.splice(0, count) };
    account.turn = this.#newTurn();
    line.turn = this.#newTurn();
    const { account_id, sender = "" } = part.members[0]!.command;
    if (line.members.length === 0) account.lines.delete(sender);
    if (account.lines.size === 0) this.#accounts.delete(account_id);
    return part;
  }

  /** Some or all of what was taken, to where it was; if it is all, the turn was not used. */
  putBack(part: Part<One>, put_off: readonly One[]): void {
    if (put_off.length === 0) return;
    const { account, line } = this.#linesOf(put_off[0]!);
    line.members.unshift(...put_off);
    // Those of another set of this sender may be back already.
    line.members.sort((a, b) => a.at - b.at);
    if (put_off.length < part.members.length) return;
    account.turn = Math.min(account.turn, part.account_turn);
    line.turn = Math.min(line.turn, part.line_turn);
  }

  #linesOf({ command }: One): { account: Account<One>; line: Line<One> } {
    const { account_id, sender = "" } = command;
    const account = this.#accounts.get(account_id) ?? { turn: this.#newTurn(), lines: new Map() };
    const line = account.lines.get(sender) ?? { turn: this.#newTurn(), members: [] };
    this.#accounts.set(account_id, account);
    account.lines.set(sender, line);
    return { account, line };
  }

  #newTurn(): number {
    this.#turns += 1;
    return this.#turns;
  }
}
