import { ageSeconds, type MetricSource } from "../../platform/metrics/model.ts";
import { listBankReconciliations } from "./bank-store.ts";

/** The last results of comparing bank accounts with their statements, which a task does hourly. */
export function bankMetrics(): MetricSource {
  const gauge = (name: string, help: string) => ({ name, help, label: "bank_account" });
  return {
    gauges: [
      gauge(
        "sliproad_bank_difference",
        "1 where the ledger and the last statement of a bank account differed, else 0.",
      ),
      gauge(
        "sliproad_bank_statement_changed",
        "1 where a stored statement of a bank account was changed in the database, else 0.",
      ),
      gauge("sliproad_bank_overdrawn", "1 where the ledger has less than nothing, else 0."),
      gauge(
        "sliproad_bank_reconciled_age_seconds",
        "How long ago the ledger was compared with the statements of a bank account.",
      ),
      gauge(
        "sliproad_bank_statement_age_seconds",
        "How long ago the day ended that the last statement of a bank account closes.",
      ),
    ],
    read: async (session, { now, real_now }) => {
      const rows = await listBankReconciliations(session);
      const by_account = Map.groupBy(rows, ({ bank_account }) => bank_account);
      return [...by_account].flatMap(([label, own]) => {
        const value = (name: string, of: number) => ({ name, label, value: of });
        const is = (name: string, found: boolean) => value(name, found ? 1 : 0);
        const compared_at = own.map(({ at }) => at.getTime());
        const closed_on = own.map((row) => Date.parse(`${row.closed_on}T24:00:00Z`));
        return [
          is(
            "sliproad_bank_difference",
            own.some(({ difference }) => difference !== 0n),
          ),
          is(
            "sliproad_bank_statement_changed",
            own.some(({ is_tampered }) => is_tampered),
          ),
          is(
            "sliproad_bank_overdrawn",
            own.some(({ balance }) => balance < 0n),
          ),
          value(
            "sliproad_bank_reconciled_age_seconds",
            ageSeconds(new Date(Math.min(...compared_at)), real_now),
          ),
          value(
            "sliproad_bank_statement_age_seconds",
            ageSeconds(new Date(Math.min(...closed_on)), now),
          ),
        ];
      });
    },
  };
}
