/** As many questions as a node gets in one request. */
const AT_ONCE = 20;

/** Works on a few items at a time: each waits for a node, but no node gets all at once. */
export async function inChunks<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE) {
    await Promise.all(items.slice(at, at + AT_ONCE).map(work));
  }
}
