type OfAccount = { account_id: string };

/** How much a set of endpoints uses of its accounts' shares. */
type SetShare = {
  /** Marks the set as long: it counts for every account that still has an endpoint in it. */
  take(): void;
  ended(endpoint: OfAccount): void;
};

/** Counts the long sets of each account. */
export class AccountShares {
  readonly #max: number;
  readonly #taken = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Of the long sets that are still free, an account leaves as many as it has. */
  isUsedUp({ account_id }: OfAccount, free: number): boolean {
    const own = this.#taken.get(account_id) ?? 0;
    return own > 0 && own >= Math.min(this.#max, free - 1);
  }

  begin(endpoints: readonly OfAccount[]): SetShare {
    const at_work = new Map<string, number>();
    for (const { account_id } of endpoints) add(at_work, account_id, 1);
    let is_taken = false;
    return {
      take: () => {
        is_taken = true;
        for (const account_id of at_work.keys()) add(this.#taken, account_id, 1);
      },
      ended: ({ account_id }) => {
        add(at_work, account_id, -1);
        if (is_taken && !at_work.has(account_id)) add(this.#taken, account_id, -1);
      },
    };
  }
}

function add(counts: Map<string, number>, key: string, more: number): void {
  const count = (counts.get(key) ?? 0) + more;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
