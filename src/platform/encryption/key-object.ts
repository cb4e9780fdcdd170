import { createSecretKey, type KeyObject } from "node:crypto";

const key_objects = new WeakMap<Buffer, KeyObject>();

/** Made once for each key: from the bytes, every use would take a third longer. */
export function keyObjectOf(key: Buffer): KeyObject {
  const known = key_objects.get(key);
  if (known) return known;
  const object = createSecretKey(key);
  key_objects.set(key, object);
  return object;
}
