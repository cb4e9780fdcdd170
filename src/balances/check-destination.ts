import type { Chain } from "../catalogue/chains.ts";
import { lowerAscii, textOf } from "../catalogue/text.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import type { Problems } from "../platform/problems.ts";

/** A chain and an address on it; undefined, and reported, where they are invalid. */
export function checkDestination(
  input: { chain?: unknown; address?: unknown } | undefined,
  object: string,
  chains: readonly Chain[],
  problems: Problems,
): { chain: Chain; address: string } | undefined {
  const name = lowerAscii(textOf(input?.chain));
  const chain = chains.find((known) => known === name);
  if (!chain) {
    problems.invalid(`${object}.chain`, `Send one of ${chains.join(", ")}.`);
    return undefined;
  }
  const checked = checkAddress(chain, textOf(input?.address));
  if ("value" in checked) return { chain, address: checked.value };
  problems.invalid(`${object}.address`, checked.reason);
  return undefined;
}
