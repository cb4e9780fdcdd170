/**
 * Values by account and id. A batch contains commands of several accounts: a lookup by id alone
 * could return one account's record to another.
 */
export class AccountMap<Value> {
  readonly #values = new Map<string, Value>();

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
    return this.#values.get(`${account_id} ${id}`);
  }

  set(account_id: string, id: string, value: Value): void {
    this.#values.set(`${account_id} ${id}`, value);
  }

  values(): Iterable<Value> {
    return this.#values.values();
  }

  delete(account_id: string, id: string): void {
    this.#values.delete(`${account_id} ${id}`);
  }

  has(account_id: string, id: string): boolean {
    return this.#values.has(`${account_id} ${id}`);
  }
}
