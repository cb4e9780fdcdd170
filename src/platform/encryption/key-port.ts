import type { Place } from "./cipher.ts";

/**
 * The port to the owner of the master key: it wraps and unwraps the keys of accounts. A key wrapped
 * for one place does not unwrap for another. Every adapter must pass
 * `test/platform/encryption/master-keys-conformance.ts`.
 */
export type MasterKeys = {
  /** The id of the key that wraps new keys. */
  currentId(): Promise<string>;
  /** False if nothing that this key wrapped can be unwrapped here. */
  has(key_id: string): Promise<boolean>;
  wrap(key_id: string, place: Place, key: Buffer): Promise<Buffer>;
  unwrap(key_id: string, place: Place, wrapped: Buffer): Promise<Buffer>;
};
