import type { Rail } from "../../catalogue/rails.ts";
import type { BankPort } from "./port.ts";

/** A bank that serves some accounts and rails only. */
export type PartialBank = BankPort & {
  serves(payout: { currency: string; rail: Rail }): boolean;
  has(bank_account: string | null): boolean;
};

type Cursors = { real: string | null; simulated: string | null };

/** One port for a real bank and, for what it does not serve, the sandbox's. */
export function combineBanks(real: PartialBank, simulated: BankPort): BankPort {
  return {
    submit: async (instructions) => {
      const { own = [], other = [] } = Object.groupBy(instructions, (instruction) =>
        real.serves(instruction) ? "own" : "other",
      );
      if (own.length > 0) await real.submit(own);
      if (other.length > 0) await simulated.submit(other);
    },
    listAnswers: async (cursor, limit) => {
      const cursors = readCursors(cursor);
      const first = await real.listAnswers(cursors.real, limit);
      const rest = limit - first.answers.length;
      const second = await simulated.listAnswers(cursors.simulated, rest);
      return {
        answers: [...first.answers, ...second.answers],
        cursor: writeCursors({ real: first.cursor, simulated: second.cursor }),
      };
    },
    payingAccount: (payout) => real.payingAccount(payout) ?? simulated.payingAccount(payout),
    coordinatesFor: (currency, rail) =>
      real.coordinatesFor(currency, rail) ?? simulated.coordinatesFor(currency, rail),
    listCredits: async (cursor, limit) => {
      const cursors = readCursors(cursor);
      const first = await real.listCredits(cursors.real, limit);
      const rest = limit - first.credits.length;
      const second = await simulated.listCredits(cursors.simulated, rest);
      return {
        credits: [...first.credits, ...second.credits],
        cursor: writeCursors({ real: first.cursor, simulated: second.cursor }),
      };
    },
    returnCredit: (request) =>
      (real.has(request.bank_account) ? real : simulated).returnCredit(request),
  };
}

/** A cursor of one number is the sandbox's, from before there was another bank. */
function readCursors(cursor: string | null): Cursors {
  if (cursor === null || !cursor.includes(SEPARATOR)) return { real: null, simulated: cursor };
  const [real, simulated] = cursor.split(SEPARATOR);
  return { real: real || null, simulated: simulated || null };
}

const SEPARATOR = "/";

/** Null as long as neither bank has sent anything. */
function writeCursors({ real, simulated }: Cursors): string | null {
  if (real === null && simulated === null) return null;
  return `${real ?? ""}${SEPARATOR}${simulated ?? ""}`;
}
