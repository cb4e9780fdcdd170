import { CHAINS, type Chain, isChain } from "../catalogue/chains.ts";
import { lowerAscii, textOf } from "../catalogue/text.ts";
import { checkAddress } from "../partners/chain/check-address.ts";
import type { Problems } from "../platform/problems.ts";

/** A chain and an address on it; undefined, and reported, where they are invalid. */
export function checkDestination(
  input: { chain?: unknown; address?: unknown } | undefined,
  object: string,
  problems: Problems,
): { chain: Chain; address: string } | undefined {
  const chain = lowerAscii(textOf(input?.chain));
  if (!isChain(chain)) {
    problems.invalid(`${object}.chain`, `Send one of ${CHAINS.join(", ")}.`);
    return undefined;
  }
  const checked = checkAddress(chain, textOf(input?.address));
  if ("value" in checked) return { chain, address: checked.value };
  problems.invalid(`${object}.address`, checked.reason);
  return undefined;
}
