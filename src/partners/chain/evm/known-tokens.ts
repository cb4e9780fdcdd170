import { checkAddress } from "../check-address.ts";
import type { EvmChain, EvmSettings, TokenContract } from "./model.ts";
import { contractsOf } from "./transfer-logs.ts";

/**
 * Stablecoins that people send although the operator's file may not list them: those of the
 * issuers, and bridged ones with the same symbol. By chain id; test networks have none.
 */
const KNOWN_TOKENS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  1: {
    usdc: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    usdt: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
  },
  137: {
    usdc: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
    "usdc.e": "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174",
    usdt: "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
  },
  8453: {
    usdc: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    usdbc: "0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA",
    usdt: "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2",
  },
  42161: {
    usdc: "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
    "usdc.e": "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8",
    usdt: "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
  },
};

type NamedContract = Pick<TokenContract, "name" | "address">;

/**
 * Contracts of which a chain's addresses may hold tokens that nobody credits: those that the file
 * only recognises, those that it lists for another chain, and the known ones of this chain.
 */
export function uncreditedContracts(
  { chains }: Pick<EvmSettings, "chains">,
  chain: EvmChain,
): NamedContract[] {
  const elsewhere = chains
    .filter(({ name }) => name !== chain.name)
    .flatMap((other) =>
      contractsOf(other).map(({ name, address }) => ({
        name: `${name} of ${other.name}`,
        address,
      })),
    );
  const known = Object.entries(KNOWN_TOKENS[chain.chain_id] ?? {}).map(([name, address]) => ({
    name,
    address: toLowerCase(address),
  }));
  const credited = new Set(chain.tokens.map(({ address }) => address));
  const found = new Map<string, NamedContract>();
  // The file's own name of a contract goes first, the known one before that of another chain.
  for (const { name, address } of [...chain.other_tokens, ...known, ...elsewhere]) {
    if (!credited.has(address) && !found.has(address)) found.set(address, { name, address });
  }
  return [...found.values()];
}

/** Its capital letters are a checksum: a typo in the table fails here. */
function toLowerCase(address: string): string {
  const checked = checkAddress("ethereum", address);
  if ("value" in checked) return checked.value;
  throw new Error(`${address} is not an address`);
}
