import { Disagreement } from "../partners/chain/evm/check-transfers.ts";
import type { EvmSettings } from "../partners/chain/evm/model.ts";
import { openWallets, proveAddress } from "../partners/chain/evm/wallet.ts";
import type { OwnAddress } from "./reconcile-store.ts";

/**
 * `unproven`: of keys that the chains file does not name. Whoever can write to the database could
 * add an address there.
 */
type OwnAddresses = { proven: string[]; unproven: string[] };

/**
 * Addresses that are ours, as the chains file proves. One that claims to be of its key and is not
 * was not written by Sliproad: it could hide that tokens were taken.
 */
export function proveAddresses(
  rows: readonly OwnAddress[],
  { xpub, earlier_xpubs, treasury }: Pick<EvmSettings, "xpub" | "earlier_xpubs" | "treasury">,
): OwnAddresses {
  const wallets = openWallets([xpub, ...earlier_xpubs]);
  const own: OwnAddresses = { proven: treasury === null ? [] : [treasury], unproven: [] };
  for (const { address, wallet: of, address_index } of rows) {
    if (address === treasury) continue;
    const proof = proveAddress(wallets, { address, wallet: of, address_index: address_index ?? 0 });
    if (proof === "unknown") {
      own.unproven.push(address);
      continue;
    }
    if (proof === "false") {
      throw new Disagreement(
        `${address} is address ${address_index} in the database, but not of its xpub: the row ` +
          "was not written by Sliproad",
      );
    }
    own.proven.push(address);
  }
  return own;
}
