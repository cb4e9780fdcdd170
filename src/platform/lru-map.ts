/** A map that deletes the least recently used entry when it is full. */
export class LruMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #entries_max: number;

  constructor(entries_max: number) {
    this.#entries_max = entries_max;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#entries_max) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest!);
    }
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
