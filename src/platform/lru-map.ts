/** A map that deletes the least recently used entry when it is full. */
export class LruMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #entries_max: number;
  #newest: Key | undefined;

  constructor(entries_max: number) {
    this.#entries_max = entries_max;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    // Moving an entry costs several times as much as reading it.
    if (value === undefined || key === this.#newest) return value;
    this.#put(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#put(key, value);
    if (this.#entries.size > this.#entries_max) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest!);
    }
  }

  #put(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#newest = key;
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
