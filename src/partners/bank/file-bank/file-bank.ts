import type { Clock } from "../../../platform/clock.ts";
import type { BankPort } from "../port.ts";
import { LINE_DETAILS, type ReportDeps } from "./apply-report.ts";
import { lineName } from "./match-entry.ts";
import { listCreditLines } from "./report-store.ts";
import { listAnswers } from "./store.ts";
import { type FileBankDeps, submitPayments } from "./submit-payments.ts";

/** The part of the port that files serve so far: not yet our own bank details, and returns. */
export function createFileBank(
  deps: FileBankDeps & ReportDeps & { clock: Clock },
): Pick<BankPort, "submit" | "listAnswers" | "listCredits"> {
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
    listCredits: async (cursor, limit) => {
      const rows = await listCreditLines(deps.database, cursor, limit);
      const last = rows.at(-1);
      const key = await deps.keyring.openAccount(deps.database, deps.operator_id);
      const credits = rows.map((row) => {
        const { bank_account, amount, currency, booked_on } = row;
        const record = { account_id: deps.operator_id, id: lineName(row) };
        const { text, debtor } = LINE_DETAILS.open(key, record, row.details);
        return {
          ...{ bank_account, bank_reference: lineName(row), amount, currency, text },
          payer_name: debtor.name ?? "",
          booked_at: new Date(`${booked_on}T00:00:00Z`),
        };
      });
      return { credits, cursor: last ? String(last.number) : cursor };
    },
  };
}
