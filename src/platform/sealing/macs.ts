/** The keys of this process, bound to its database (`bindMacs` of row-mac.ts). */
export type Macs = {
  /** The version and the key for new MACs. */
  current(): { version: number; key: Buffer };
  find(version: number): Buffer | undefined;
  /** True if MACs of new rows must no longer have this version: it was replaced a day ago. */
  isRetired(version: number): boolean;
  /** Reads again which keys exist: another process may have rotated them. */
  refresh(): Promise<void>;
};
