/**
 * The shortest legal path from one state to another, without the first; empty when already there,
 * null when there is none.
 */
export function findPath<State extends string>(
  moves: Readonly<Record<State, readonly State[]>>,
  from: State,
  to: State,
): State[] | null {
  const paths: State[][] = [[]];
  const seen = new Set<State>([from]);
  for (let path = paths.shift(); path; path = paths.shift()) {
    const at = path.at(-1) ?? from;
    if (at === to) return path;
    for (const next of moves[at]) {
      if (seen.has(next)) continue;
      seen.add(next);
      paths.push([...path, next]);
    }
  }
  return null;
}
