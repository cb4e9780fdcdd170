import { tell } from "./api.ts";
import type { Hit } from "./hit.ts";

export type SearchResult = {
  hits: Hit[];
  /** Filters of the payouts that everything belongs to that was searched for. */
  filters: { name: "reference" | "payee" | "user_id"; value: string }[];
  /** How many of the newest people were compared by name; 0 if none had to be. */
  people_searched: number;
};

/** The server compares so many names: there may be more people. */
export const PEOPLE_COMPARED_MAX = 200;

/** What a text may name: an id, a reference, an address, a number, or a name. */
export function search(text: string): Promise<SearchResult> {
  return tell<SearchResult>("/search", { text });
}
