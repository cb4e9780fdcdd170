import type { DepositRail } from "../../../catalogue/rails.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { PartialBank } from "../combine-banks.ts";
import type { BankCoordinates, BankCredit } from "../port.ts";
import { hasAnswerMac } from "./answer-mac.ts";
import type { ReportDeps } from "./apply-report.ts";
import { openProvenLine } from "./line-details.ts";
import { lineName } from "./match-entry.ts";
import { type FileBankAccount, routeOf } from "./model.ts";
import { type CreditRow, listCreditLines, updateChangedLines } from "./report-store.ts";
import { returnCredit } from "./returns/return-credit.ts";
import { listAnswers, updateUnproven } from "./store.ts";
import { submitPayments } from "./submit-payments.ts";

/** A bank that takes and sends files. */
export function createFileBank(deps: ReportDeps & { clock: Clock }): PartialBank {
  const { accounts } = deps;
  return {
    serves: (payout) => routeOf(accounts, payout) !== undefined,
    has: (bank_account) => accounts.some(({ name }) => name === bank_account),
    submit: (instructions) => submitPayments(deps, instructions, deps.clock.now()),
    listAnswers: async (cursor, limit) => {
      const rows = await listAnswers(deps.database, cursor, limit);
      const last = rows.at(-1);
      const { proven = [], forged = [] } = Object.groupBy(rows, ({ number: _, ...row }) =>
        hasAnswerMac(deps.index_key, row) ? "proven" : "forged",
      );
      if (forged.length > 0) {
        await updateUnproven(
          deps.database,
          forged.map(({ number }) => number),
        );
      }
      const answers = proven.map(({ number: _, mac: __, reason_codes, ...answer }) => ({
        ...answer,
        reasons: reason_codes.map((code) => ({ code, text: null })),
      }));
      return { answers, cursor: last ? String(last.number) : cursor };
    },
    payingAccount: (payout) => routeOf(accounts, payout)?.account.name ?? null,
    coordinatesFor: (currency, rail) => coordinatesOf(accounts, currency, rail),
    listCredits: async (cursor, limit) => {
      const rows = await listCreditLines(deps.database, cursor, limit);
      const last = rows.at(-1);
      const key = await deps.keyring.openAccount(deps.database, deps.operator_id);
      const opened = rows.map((row) => creditOf(deps.operator_id, key, row));
      const changed = rows.filter((_, at) => opened[at] === null);
      if (changed.length > 0) {
        await updateChangedLines(
          deps.database,
          changed.map(({ number }) => number),
        );
      }
      const credits = opened.filter((credit) => credit !== null);
      return { credits, cursor: last ? String(last.number) : cursor };
    },
    returnCredit: (request) => returnCredit(deps, request, deps.clock.now()),
  };
}

/** Null if somebody changed the line in the database. */
function creditOf(operator_id: string, key: Buffer, row: CreditRow): BankCredit | null {
  const { bank_account, amount, currency, booked_on } = row;
  const details = openProvenLine(operator_id, key, row);
  if (!details) return null;
  return {
    ...{ bank_account, bank_reference: lineName(row), amount, currency },
    text: details.text,
    payer_name: details.debtor.name ?? "",
    booked_at: new Date(`${booked_on}T00:00:00Z`),
  };
}

function coordinatesOf(
  accounts: readonly FileBankAccount[],
  currency: string,
  rail: DepositRail,
): BankCoordinates | null {
  const account = accounts.find(
    ({ deposits }) => deposits?.currency === currency && deposits.rails.includes(rail),
  );
  if (!account?.deposits) return null;
  const { debtor, debtor_account: id, debtor_bank: bank, deposits } = account;
  return {
    bank_account_number: "number" in id ? id.number : null,
    bank_routing_number: "member_id" in bank ? bank.member_id : null,
    bank_iban: "iban" in id ? id.iban : null,
    bank_swift_bic: "bic" in bank ? bank.bic : null,
    bank_name: deposits.bank_name,
    bank_address: deposits.bank_address,
    bank_beneficiary_name: debtor.name,
  };
}
