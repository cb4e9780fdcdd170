import { SliproadError } from "./errors.ts";

/** One page of a list. */
export type Page<Item> = {
  records: Item[];
  has_more: boolean;
  /** The page after this one; null after the last. */
  next(): Promise<Page<Item> | null>;
};

type LoadPage<Item> = (
  starting_after: string | undefined,
) => Promise<{ records: Item[]; has_more: boolean }>;

/**
 * A list that is fetched page by page while you iterate: `for await (const offramp of
 * sliproad.offramps.list(userId))`. Nothing is fetched before that.
 */
export class List<Item extends { id: string }> implements AsyncIterable<Item> {
  readonly #load: LoadPage<Item>;
  readonly #starting_after: string | undefined;

  constructor(load: LoadPage<Item>, starting_after: string | undefined) {
    this.#load = load;
    this.#starting_after = starting_after;
  }

  /** Only the first page. */
  page(): Promise<Page<Item>> {
    return this.#page(this.#starting_after);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let page: Page<Item> | null = await this.page();
    while (page) {
      yield* page.records;
      page = await page.next();
    }
  }

  async #page(starting_after: string | undefined): Promise<Page<Item>> {
    const { records, has_more } = await this.#load(starting_after);
    const last = records.at(-1);
    return {
      records,
      has_more,
      next: async () => {
        if (!has_more || !last) return null;
        if (last.id === starting_after) throw repeatedPage(last.id);
        return this.#page(last.id);
      },
    };
  }
}

/** A list that returns the same page again would never end. */
function repeatedPage(id: string): SliproadError {
  const message = `The page after ${id} ends with ${id} again; the list would never end.`;
  return new SliproadError("answer_unreadable", message);
}
