import { loadChains } from "../../../src/partners/chain/evm/load-chains.ts";
import type { EvmSettings } from "../../../src/partners/chain/evm/model.ts";

/** Of twelve words that everybody knows; not those of the node's own accounts. */
export const TEST_WORDS = `${"abandon ".repeat(11)}about`;
export const TEST_XPUB =
  "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsB" +
  "ngh5GFZaM6si3yZdUsT8ddYM3PwnATt";

export type ChainEntry = Record<string, unknown> & {
  rpc_urls: readonly string[];
  tokens: Record<string, { address: string; decimals: number }>;
};

/** The text of a chains file; what is not given suits the node of the tests. */
export function chainsFile(
  chains: Record<string, ChainEntry>,
  xpub = TEST_XPUB,
  treasury?: string,
): string {
  const entries = Object.entries(chains).map(([name, entry]) => [
    name,
    { chain_id: 31_337, final_tag: "finalized", poll_seconds: 0, timeout_seconds: 4, ...entry },
  ]);
  return JSON.stringify({ xpub, treasury, chains: Object.fromEntries(entries) });
}

export function settingsOf(...file: Parameters<typeof chainsFile>): EvmSettings {
  return loadChains(chainsFile(...file));
}
