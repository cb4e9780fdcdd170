/**
 * Hands results over in sets: all at once if they are all there soon, otherwise those that came
 * within `wait_ms` of each other. So a slow one delays nobody for longer than that.
 */
export function gather<Item>(
  expected: number,
  wait_ms: number,
  handle: (items: Item[]) => Promise<void>,
): (item: Item) => Promise<void> {
  let missing = expected;
  let items: Item[] = [];
  let next = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;

  const handOver = () => {
    clearTimeout(timer);
    timer = undefined;
    const [taken, done] = [items, next];
    items = [];
    next = Promise.withResolvers<void>();
    handle(taken).then(done.resolve, done.reject);
  };

  return (item) => {
    const { promise } = next;
    items.push(item);
    missing -= 1;
    if (missing === 0) handOver();
    else timer ??= setTimeout(handOver, wait_ms);
    return promise;
  };
}
