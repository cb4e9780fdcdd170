import type { CallOptions } from "../api.ts";
import type { DownloadedFile } from "../download.ts";
import type { List } from "../list.ts";
import type { Answer, Body, Query, Schema } from "../types.ts";
import { Resource } from "./resource.ts";

const ENTRIES = "/ledger/entries";
const BALANCES = "/ledger/balances";
const EXPORTS = "/exports";
const ONE_EXPORT = "/exports/{export_id}";

export type LedgerEntry = Schema<"LedgerEntry">;
export type LedgerBalance = Schema<"LedgerBalance">;
export type Export = Schema<"Export">;
export type NewExport = Body<"post", typeof EXPORTS>["export"];

/** The double-entry books of the account. */
export class Ledger extends Resource {
  listEntries(query: Query<typeof ENTRIES> = {}, options?: CallOptions): List<LedgerEntry> {
    return this.api.list(ENTRIES, "entries", { query }, options);
  }

  /** The trial balance, now or before a given time. */
  balances(
    query: Query<typeof BALANCES> = {},
    options?: CallOptions,
  ): Promise<Answer<"get", typeof BALANCES>> {
    return this.api.send("get", BALANCES, { query }, options);
  }
}

/** Files for auditors, each with a digest. */
export class Exports extends Resource {
  async create(new_export: NewExport, options?: CallOptions): Promise<Export> {
    return this.api.sendFor("export", "post", EXPORTS, { body: { export: new_export } }, options);
  }

  list(query: Query<typeof EXPORTS> = {}, options?: CallOptions): List<Export> {
    return this.api.list(EXPORTS, "exports", { query }, options);
  }

  async get(export_id: string, options?: CallOptions): Promise<Export> {
    return this.api.sendFor("export", "get", ONE_EXPORT, { path: { export_id } }, options);
  }

  /** Deletes the file; the export stays, with its digest. */
  async remove(export_id: string, options?: CallOptions): Promise<Export> {
    return this.api.sendFor("export", "delete", ONE_EXPORT, { path: { export_id } }, options);
  }

  /** The file, once the export is `ready`. */
  download(export_id: string, options?: CallOptions): Promise<DownloadedFile> {
    return this.api.download("/exports/{export_id}/file", { path: { export_id } }, options);
  }
}
