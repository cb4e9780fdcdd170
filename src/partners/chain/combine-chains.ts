import { CHAINS, type Chain } from "../../catalogue/chains.ts";
import type { ChainPort } from "./port.ts";

/** One port for real chains and, for the chains that are not real, the sandbox's. */
export function combineChains(real: ChainPort, simulated: ChainPort): ChainPort {
  const portOf = (chain: Chain) => (real.chains.includes(chain) ? real : simulated);
  return {
    chains: CHAINS.filter((chain) => [real, simulated].some((one) => one.chains.includes(chain))),
    sending: CHAINS.filter((chain) => portOf(chain).sending.includes(chain)),
    simulated: simulated.simulated.filter((chain) => !real.chains.includes(chain)),
    issueAddresses: async (session, chains, now) => {
      const issued = new Map<Chain, string[]>();
      for (const [chain, same] of Map.groupBy(chains, (chain) => chain)) {
        issued.set(chain, await portOf(chain).issueAddresses(session, same, now));
      }
      return chains.map((chain) => issued.get(chain)!.shift()!);
    },
    announce: (expected, now) => portOf(expected.chain).announce(expected, now),
    listTransfers: (chain, ...rest) => portOf(chain).listTransfers(chain, ...rest),
    finalUntil: (chain, now) => portOf(chain).finalUntil(chain, now),
    findStatus: (chain, named) => portOf(chain).findStatus(chain, named),
    readTransaction: (chain, tx_id) => portOf(chain).readTransaction(chain, tx_id),
    findObjection: (chain, address) => portOf(chain).findObjection(chain, address),
    findSend: (chain, key) => portOf(chain).findSend(chain, key),
    send: (request) => portOf(request.chain).send(request),
  };
}
