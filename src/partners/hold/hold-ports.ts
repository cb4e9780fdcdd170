import type { BankPort } from "../bank/port.ts";
import { type ChainPort, SendPending } from "../chain/port.ts";
import { type Leaving, PayoutsHeld } from "../leaving.ts";

/** A bank that gets nothing while payouts are on hold; what it says is read as always. */
export function holdBank(bank: BankPort, leaving: Leaving): BankPort {
  return {
    ...bank,
    submit: async (instructions) => {
      if (await leaving.findHold()) throw new PayoutsHeld("payouts are on hold");
      return bank.submit(instructions);
    },
    returnCredit: async (request) =>
      (await leaving.findHold()) ? "pending" : bank.returnCredit(request),
  };
}

/** A chain on which nothing is sent meanwhile; what was sent before is told. */
export function holdChain(chain: ChainPort, leaving: Leaving): ChainPort {
  return {
    ...chain,
    send: async (request) => {
      if (!(await leaving.findHold())) return chain.send(request);
      const known = await chain.findSend(request.chain, request.key);
      if (known) return known;
      throw new SendPending("payouts are on hold");
    },
  };
}
