import type { Transaction } from "../../../../platform/db/database.ts";
import type { AccountBalance, AccountEntry, ReportItem, Statement } from "../../report.ts";
import { accountOf, type FileBankAccount } from "../model.ts";
import { type StatementEntry, type StatementPage, statementMac } from "./model.ts";
import { insertStatement } from "./statement-store.ts";

type Recorded = { accounts: readonly FileBankAccount[]; key: Buffer; digest: Buffer };

/**
 * Keeps the balances and lines of a report's statements, whichever reports are booked: `camt.053`
 * only, as others repeat a part of it. Its items are taken in their order: lines, balances, and
 * then the statement that they belong to.
 */
export class StatementRecorder {
  readonly #recorded: Recorded;
  /** Parts of one line are one entry. */
  #lines = new Map<string, StatementEntry & { currency: string }>();
  #balances: AccountBalance[] = [];

  constructor(recorded: Recorded) {
    this.#recorded = recorded;
  }

  async take(tx: Transaction, item: ReportItem): Promise<void> {
    if (item.kind === "balance") this.#balances.push(item);
    else if (item.kind === "statement") await this.#end(tx, item);
    else if (item.kind !== "status") this.#add(item);
  }

  #add(entry: AccountEntry): void {
    if (entry.report !== "camt.053" || entry.state !== "booked") return;
    const { entry_key, currency, booked_on } = entry;
    const before = this.#lines.get(entry_key)?.amount ?? 0n;
    const amount = before + (isDebit(entry) ? -entry.amount : entry.amount);
    this.#lines.set(entry_key, { entry_key, amount, currency, booked_on });
  }

  async #end(tx: Transaction, statement: Statement): Promise<void> {
    const [lines, balances] = [[...this.#lines.values()], this.#balances];
    this.#lines = new Map();
    this.#balances = [];
    if (statement.report !== "camt.053") return;
    const { accounts, key, digest: report_digest } = this.#recorded;
    const { name: bank_account } = accountOf(accounts, statement.account);
    const currencies = new Set([...balances, ...lines].map(({ currency }) => currency));
    for (const currency of currencies) {
      const page = toPage(bank_account, statement, {
        currency,
        lines: lines.filter((line) => line.currency === currency),
        balances: balances.filter((balance) => balance.currency === currency),
      });
      const mac = statementMac(key, report_digest, page);
      await insertStatement(tx, { ...page, report_digest, mac });
    }
  }
}

function isDebit({ kind }: AccountEntry): boolean {
  return kind === "booked" || kind === "taken_back" || kind === "charge";
}

type Content = {
  currency: string;
  lines: readonly StatementEntry[];
  balances: readonly AccountBalance[];
};

function toPage(
  bank_account: string,
  { statement_id, sequence, page, is_last_page }: Statement,
  { currency, lines, balances }: Content,
): StatementPage {
  // `PRCD` is the closing balance of the day before: the same, where `OPBD` is absent.
  const opening =
    balances.find(({ bank_type }) => bank_type === "OPBD") ??
    balances.find(({ type }) => type === "opening");
  const closing = balances.findLast(({ type }) => type === "closing");
  return {
    ...{ bank_account, statement_id, sequence, page, is_last_page, currency },
    opening: opening ? signed(opening) : null,
    opened_on: opening?.date ?? null,
    closing: closing ? signed(closing) : null,
    closed_on: closing?.date ?? null,
    entries: lines.map(({ entry_key, amount, booked_on }) => ({ entry_key, amount, booked_on })),
  };
}

function signed({ amount, is_debit }: AccountBalance): bigint {
  return is_debit ? -amount : amount;
}
