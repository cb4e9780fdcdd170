import type { Place } from "./cipher.ts";

/**
 * The port to whatever holds the master key: it wraps the keys of accounts and unwraps them. What
 * is wrapped for one place does not unwrap for another.
 * `test/platform/encryption/master-keys-conformance.ts` is what every adapter has to pass.
 */
export type MasterKeys = {
  /** The id of the key that wraps new keys. */
  currentId(): Promise<string>;
  /** False when nothing that this key wrapped can be unwrapped here. */
  has(key_id: string): Promise<boolean>;
  wrap(key_id: string, place: Place, key: Buffer): Promise<Buffer>;
  unwrap(key_id: string, place: Place, wrapped: Buffer): Promise<Buffer>;
};
