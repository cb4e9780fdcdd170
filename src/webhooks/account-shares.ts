import type { Task } from "../platform/tasks/tasks.ts";

/** Counts, account by account, the endpoints whose turn lasts long. */
export class AccountShares {
  readonly #max: number;
  readonly #taken = new Map<string, Set<Task>>();

  constructor(max: number) {
    this.#max = max;
  }

  isUsedUp(account_id: string): boolean {
    return (this.#taken.get(account_id)?.size ?? 0) >= this.#max;
  }

  take(task: Task): void {
    const taken = this.#taken.get(task.account_id);
    if (taken) taken.add(task);
    else this.#taken.set(task.account_id, new Set([task]));
  }

  giveBack(task: Task): void {
    const taken = this.#taken.get(task.account_id);
    taken?.delete(task);
    if (taken?.size === 0) this.#taken.delete(task.account_id);
  }
}
