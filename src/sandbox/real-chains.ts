import type { Chain } from "../catalogue/chains.ts";
import type { ChainPort } from "../partners/chain/port.ts";

/** Why no transfer can be simulated on a chain; null if it can. */
export function whyNotSimulated({ chains, simulated }: ChainPort, chain: Chain): string | null {
  if (!chains.includes(chain) || simulated.includes(chain)) return null;
  return (
    `${chain} is a real network in this sandbox (SLIPROAD_CHAINS_FILE); send test tokens to the ` +
    "deposit address with a wallet."
  );
}
