import { keyedHash, open, type Place, seal } from "../platform/encryption/cipher.ts";

/**
 * People belong to the installation, not to one account, so what is personal about them is sealed
 * with an installation key, derived from the key of the keyed hashes.
 */
const DATA_KEY_VERSION = 1;

type PersonalPlace = Omit<Place, "account_id">;

export function sealPersonal(index_key: Buffer, place: PersonalPlace, text: string): Buffer {
  return seal(dataKey(index_key), DATA_KEY_VERSION, placeOf(place), Buffer.from(text));
}

export function openPersonal(index_key: Buffer, place: PersonalPlace, sealed: Buffer): string {
  return open(dataKey(index_key), placeOf(place), sealed).toString();
}

function dataKey(index_key: Buffer): Buffer {
  return keyedHash(index_key, "people data key");
}

function placeOf(place: PersonalPlace): Place {
  return { account_id: "installation", ...place };
}
