import { Disagreement } from "../partners/chain/evm/check-transfers.ts";
import type { EvmSettings } from "../partners/chain/evm/model.ts";
import { openWallet } from "../partners/chain/evm/wallet.ts";
import type { OwnAddress } from "./reconcile-store.ts";

/** `unproven`: of earlier keys. Whoever can write to the database could add an address there. */
type OwnAddresses = { proven: string[]; unproven: string[] };

/**
 * Addresses that are ours, as the chains file proves. One that claims to be of its key and is not
 * was not written by Sliproad: it could hide that tokens were taken.
 */
export function proveAddresses(
  rows: readonly OwnAddress[],
  { xpub, treasury }: Pick<EvmSettings, "xpub" | "treasury">,
): OwnAddresses {
  const wallet = openWallet(xpub);
  const own: OwnAddresses = { proven: treasury === null ? [] : [treasury], unproven: [] };
  for (const { address, wallet: of, address_index } of rows) {
    if (address === treasury) continue;
    if (of !== wallet.fingerprint) {
      own.unproven.push(address);
      continue;
    }
    if (wallet.addressAt(Number(address_index)) !== address) {
      throw new Disagreement(
        `${address} is address ${address_index} in the database, but not of the xpub: the row ` +
          "was not written by Sliproad",
      );
    }
    own.proven.push(address);
  }
  return own;
}
