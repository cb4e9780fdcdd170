import { type Catalogue, chainsOf } from "../catalogue/catalogue.ts";
import type { Chain } from "../catalogue/chains.ts";
import { lowerAscii, textOf } from "../catalogue/text.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import type { Problems } from "../platform/problems.ts";

export type DestinationDeps = { chain: Pick<ChainPort, "findObjection">; catalogue: Catalogue };

/** A chain and an address on it; undefined, and reported, where they are invalid. */
export async function checkDestination(
  input: { chain?: unknown; address?: unknown } | undefined,
  object: string,
  { chain: port, catalogue }: DestinationDeps,
  problems: Problems,
): Promise<{ chain: Chain; address: string } | undefined> {
  const chains = chainsOf(catalogue);
  const name = lowerAscii(textOf(input?.chain));
  const chain = chains.find((known) => known === name);
  if (!chain) {
    problems.invalid(`${object}.chain`, `Send one of ${chains.join(", ")}.`);
    return undefined;
  }
  const checked = checkAddress(chain, textOf(input?.address));
  const reason =
    "value" in checked ? await port.findObjection(chain, checked.value) : checked.reason;
  if ("value" in checked && reason === null) return { chain, address: checked.value };
  problems.invalid(`${object}.address`, reason!);
  return undefined;
}
