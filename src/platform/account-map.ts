/**
 * Values by account and id. A batch contains commands of several accounts: a lookup by id alone
 * could return one account's record to another.
 */
export class AccountMap<Value> {
  // A map of maps: a key made of both would be a new string for every look-up.
  readonly #of_accounts = new Map<string, Map<string, Value>>();

  static of<Value>(
    values: Iterable<Value>,
    keyOf: (value: Value) => { account_id: string; id: string },
  ): AccountMap<Value> {
    const map = new AccountMap<Value>();
    for (const value of values) {
      const { account_id, id } = keyOf(value);
      map.set(account_id, id, value);
    }
    return map;
  }

  get(account_id: string, id: string): Value | undefined {
    return this.#of_accounts.get(account_id)?.get(id);
  }

  set(account_id: string, id: string, value: Value): void {
    const own = this.#of_accounts.get(account_id);
    if (own) own.set(id, value);
    else this.#of_accounts.set(account_id, new Map([[id, value]]));
  }

  values(): Iterable<Value> {
    return [...this.#of_accounts.values()].flatMap((own) => [...own.values()]);
  }

  delete(account_id: string, id: string): void {
    this.#of_accounts.get(account_id)?.delete(id);
  }

  has(account_id: string, id: string): boolean {
    return this.#of_accounts.get(account_id)?.has(id) ?? false;
  }
}
