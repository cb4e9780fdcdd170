/**
 * Bytes of encrypted data that one transaction in the background reads and writes. Decrypting,
 * rendering and encrypting them occupies the event loop, and no request is served meanwhile.
 */
export const SET_BYTES_MAX = 1_000_000;

/** Consecutive parts, each of at most `SET_BYTES_MAX`; a larger item is a part of its own. */
export function splitByBytes<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
): Item[][] {
  const parts: Item[][] = [];
  let bytes = 0;
  for (const item of items) {
    bytes += bytesOf(item);
    const part = parts.at(-1);
    if (part && bytes <= SET_BYTES_MAX) {
      part.push(item);
    } else {
      parts.push([item]);
      bytes = bytesOf(item);
    }
  }
  return parts;
}
