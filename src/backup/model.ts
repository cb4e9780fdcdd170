import type { FileKey } from "../partners/files/file-store.ts";
import type { Mode } from "../platform/config/config.ts";
import type { TableColumns } from "../platform/db/copy-connection.ts";

/** What the keys are recognised by; nobody can compute a key from it. */
type KeyFingerprints = { encryption: string[]; signing: string };

/** The part of a backup that is not encrypted. Every frame of the rest is bound to it. */
export type BackupHead = {
  format: number;
  id: string;
  /** Of Sliproad. */
  version: string;
  created_at: string;
  mode: Mode;
  /** The key of this backup, wrapped by a master key. */
  key: { master_key_id: string; wrapped: string };
  fingerprints: KeyFingerprints;
};

export const BACKUP_FORMAT = 1;

export type AppliedMigration = { name: string; checksum: string };
export type SequenceState = { name: string; last_value: string; is_called: boolean };

/** What a backup consists of, in this order. */
export type PartHead =
  | { part: "schema"; migrations: AppliedMigration[]; sequences: SequenceState[] }
  | ({ part: "file" } & FileKey)
  | ({ part: "table" } & TableColumns);

/** How much a backup has; its last record. */
export type Totals = {
  files: number;
  tables: number;
  rows: number;
  bytes: number;
  /** Files that a record names and that did not exist. */
  missing_files: number;
};

/** What a part's content is recognised by. */
export type Sum = { bytes: number; rows: number; digest: string };
