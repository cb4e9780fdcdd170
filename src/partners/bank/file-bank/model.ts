import type { DepositRail, Rail } from "../../../catalogue/rails.ts";
import type { Schedule } from "../calendar/next-window.ts";
import type { PaymentFile, Scheme } from "../iso20022/credit-transfer.ts";
import type { AccountEntry } from "../report.ts";

/** A way of paying from an account: its scheme, and when the bank takes files. */
export type FileRoute = Pick<
  PaymentFile,
  "scheme" | "charge_bearer" | "is_batch_booked" | "address_form"
> & { rail: Rail; currencies: readonly string[]; schedule: Schedule };

/** An account of ours at a bank that takes files. */
export type FileBankAccount = Pick<PaymentFile, "debtor" | "debtor_account" | "debtor_bank"> & {
  /** Its name in our books. */
  name: string;
  /** The directory that the bank's transfer program empties. */
  outbox: string;
  /** The reports whose lines count: banks report the same money in several. */
  booked_by: AccountEntry["report"];
  routes: readonly FileRoute[];
  /** What payers of onramps are told; null if this account takes none. */
  deposits: DepositAccount | null;
};

export type DepositAccount = {
  currency: string;
  rails: readonly DepositRail[];
  bank_name: string;
  bank_address: string;
};

/** The operator's file of banks. */
export type FileBankSettings = {
  /** The directory that the bank's transfer program fills with reports. */
  inbox: string;
  accounts: readonly FileBankAccount[];
};

/**
 * | State     | Means                                             | Next                         |
 * | `open`    | takes payments until its window closes            | closed, or gone if empty     |
 * | `closed`  | payments, totals and time are fixed               | placing                      |
 * | `placing` | its bytes are on disk under a temporary name      | written                      |
 * | `written` | the bank can take it; payees' details are removed |                              |
 */
export type FileState = "open" | "closed" | "placing" | "written";

/** A file that is not open any more. */
export type ClosedFile = {
  id: string;
  bank_account: string;
  scheme: Scheme;
  /** YYYY-MM-DD */
  execution_date: string;
  state: FileState;
  message_id: string;
  created_at: Date;
  payments: number;
  control_sum: string;
  temporary_name: string | null;
};

/** The account and route that pay an instruction; undefined if none does. */
export function routeOf(
  accounts: readonly FileBankAccount[],
  { currency, rail }: { currency: string; rail: Rail },
): { account: FileBankAccount; route: FileRoute } | undefined {
  for (const account of accounts) {
    const route = account.routes.find(
      (one) => one.rail === rail && one.currencies.includes(currency),
    );
    if (route) return { account, route };
  }
  return undefined;
}
