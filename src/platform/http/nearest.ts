/** The candidate that a mistyped word most likely meant; undefined if none is similar. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const distance_max = Math.max(2, Math.floor(Math.min(word.length, 64) / 3));
  const near = candidates
    .map((candidate) => ({ candidate, distance: distance(word.slice(0, 64), candidate) }))
    .filter((entry) => entry.distance <= distance_max)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.candidate;
}

/** Levenshtein distance: how many letters must be added, removed or changed. */
function distance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const changed = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(changed, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
