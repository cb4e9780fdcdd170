export type SearchSection = { url: string; page: string; heading: string; text: string };
export type SearchResult = { url: string; page: string; heading: string; excerpt: string };
export function searchSections(
  sections: readonly SearchSection[],
  question: string,
): SearchResult[];
