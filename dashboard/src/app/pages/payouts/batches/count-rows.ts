export function countRows(count: number): string {
  return count === 1 ? "1 row" : `${count} rows`;
}
