import type { RecordKey } from "../db/rows.ts";
import { open, type Place, seal } from "./cipher.ts";

/** The version of the keys of accounts and people: there is only the first. */
const KEY_VERSION = 1;

/** A column of texts that are encrypted with the key of their person or account. */
type SealedColumn<Value> = {
  seal(key: Buffer, record: RecordKey, value: Value): Buffer;
  open(key: Buffer, record: RecordKey, sealed: Buffer): Value;
};

export function sealedText(table: string, column: string): SealedColumn<string> {
  const placeOf = ({ account_id, id }: RecordKey): Place => {
    return { account_id, table, column, record_id: id };
  };
  return {
    seal: (key, record, text) => seal(key, KEY_VERSION, placeOf(record), Buffer.from(text)),
    open: (key, record, sealed) => open(key, placeOf(record), sealed).toString(),
  };
}

/** The same for values that are stored as JSON. */
export function sealedJson<Value>(table: string, column: string): SealedColumn<Value> {
  const text = sealedText(table, column);
  return {
    seal: (key, record, value) => text.seal(key, record, JSON.stringify(value)),
    open: (key, record, sealed) => JSON.parse(text.open(key, record, sealed)),
  };
}
