import { DecryptionError, keyedHash } from "../../platform/encryption/cipher.ts";
import { openPersonal, sealPersonal } from "../seal-personal.ts";
import type { PasskeyRow } from "./store.ts";

/**
 * Bound to the person and the credential: whoever can write to the database, but does not have the
 * key, can neither add a passkey to a person nor give them somebody else's.
 */
export function sealPublicKey(
  index_key: Buffer,
  row: Pick<PasskeyRow, "person_id" | "credential_id">,
  public_key: Uint8Array,
): Buffer {
  return sealPersonal(index_key, keyPlace(row), Buffer.from(public_key).toString("base64"));
}

/** Null for a row that was not written by this installation. */
export function openPublicKey(index_key: Buffer, row: PasskeyRow): Uint8Array<ArrayBuffer> | null {
  try {
    const text = openPersonal(index_key, keyPlace(row), row.public_key);
    return Uint8Array.from(Buffer.from(text, "base64"));
  } catch (error) {
    if (error instanceof DecryptionError) return null;
    throw error;
  }
}

export function sealPasskeyName(index_key: Buffer, id: string, name: string): Buffer {
  return sealPersonal(index_key, namePlace(id), name);
}

export function openPasskeyName(index_key: Buffer, row: Pick<PasskeyRow, "id" | "name">): string {
  return openPersonal(index_key, namePlace(row.id), row.name);
}

/** Identifies the person to authenticators, which store it; says nothing about them. */
export function userHandleOf(index_key: Buffer, person_id: string): Buffer {
  return keyedHash(index_key, "passkey user", person_id);
}

function keyPlace({ person_id, credential_id }: Pick<PasskeyRow, "person_id" | "credential_id">) {
  const record_id = `${person_id} ${credential_id.toString("base64url")}`;
  return { table: "passkeys", column: "public_key", record_id };
}

function namePlace(id: string) {
  return { table: "passkeys", column: "name", record_id: id };
}
