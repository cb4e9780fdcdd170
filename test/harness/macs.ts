import type { Macs } from "../../src/platform/sealing/macs.ts";

/** One key, for tests of parts that do not open the installation's own. */
export function fixedMacs(): Macs {
  const key = Buffer.alloc(32, 7);
  return {
    current: () => ({ version: 1, key }),
    find: (version) => (version === 1 ? key : undefined),
    isRetired: () => false,
    refresh: async () => {},
  };
}
