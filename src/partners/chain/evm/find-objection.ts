import type { Session } from "../../../platform/db/database.ts";
import { canonicalAddress, OWN_ADDRESS } from "../check-address.ts";
import { findAddresses } from "./address-store.ts";
import { uncreditedContracts } from "./known-tokens.ts";
import type { EvmChain, EvmSettings } from "./model.ts";

const CONTRACT =
  "This is the address of a token's contract: tokens sent to it are lost. Send the address of a " +
  "wallet.";

/** Why tokens must not be sent to an address; null where nothing is known against it. */
export async function findObjection(
  session: Session,
  settings: Pick<EvmSettings, "chains" | "treasury">,
  chain: EvmChain,
  address: string,
): Promise<string | null> {
  const to = canonicalAddress(chain.name, address);
  const contracts = [...chain.tokens, ...uncreditedContracts(settings, chain)];
  if (contracts.some((one) => one.address === to)) return CONTRACT;
  if (to === settings.treasury) return OWN_ADDRESS;
  return (await findAddresses(session, [to])).length > 0 ? OWN_ADDRESS : null;
}
