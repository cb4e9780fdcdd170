import type { Clock } from "../../../platform/clock.ts";
import type { BankPort } from "../port.ts";
import { listAnswers } from "./store.ts";
import { type FileBankDeps, submitPayments } from "./submit-payments.ts";

/** The part of the port that files of payments serve; statements will serve the rest. */
export function createFileBank(
  deps: FileBankDeps & { clock: Clock },
): Pick<BankPort, "submit" | "listAnswers"> {
  return {
    submit: (instructions) => submitPayments(deps, instructions, deps.clock.now()),
    listAnswers: async (cursor, limit) => {
      const rows = await listAnswers(deps.database, cursor, limit);
      const last = rows.at(-1);
      const answers = rows.map(({ number: _, reason_codes, ...answer }) => ({
        ...answer,
        reasons: reason_codes.map((code) => ({ code, text: null })),
      }));
      return { answers, cursor: last ? String(last.number) : cursor };
    },
  };
}
