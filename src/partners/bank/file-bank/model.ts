import type { DepositRail, Rail } from "../../../catalogue/rails.ts";
import type { Schedule } from "../calendar/next-window.ts";
import type { BankId, PaymentFile, Scheme } from "../iso20022/credit-transfer.ts";
import type { AchBatch, AchFile } from "../nacha/ach-file.ts";
import type { AccountEntry } from "../report.ts";
import { UnreadableFile } from "../unreadable-file.ts";

/** What the files of a route are: messages of ISO 20022, or NACHA files. */
export type FileScheme = Scheme | "ach";

type RouteTerms = { rail: Rail; currencies: readonly string[]; schedule: Schedule };

/** A way of paying by `pain.001`. */
export type IsoRoute = RouteTerms &
  Pick<PaymentFile, "scheme" | "charge_bearer" | "is_batch_booked" | "address_form"> & {
    /** By currency: the purpose that countries demand, and the bank that payments pass through. */
    purposes: Readonly<Record<string, string>>;
    intermediary_banks: Readonly<Record<string, BankId>>;
  };

/** A way of paying by NACHA files. */
export type AchRoute = RouteTerms & { scheme: "ach"; origination: AchOrigination };

/** A way of paying from an account: its scheme, and when the bank takes files. */
export type FileRoute = IsoRoute | AchRoute;

/** What the bank agreed on with the sender of NACHA files. */
export type AchOrigination = Pick<
  AchFile,
  "destination" | "destination_name" | "origin" | "origin_name"
> &
  Pick<AchBatch, "company_name" | "company_id" | "description" | "originating_bank"> & {
    /** Our account, where the bank demands balanced files. */
    offset: Omit<NonNullable<AchBatch["offset"]>, "trace_sequence"> | null;
    /** Whether the bank books a file or batch as one sum, without any id of ours. */
    is_booked_by_sum: boolean;
  };

/** An account of ours at a bank that takes files. */
export type FileBankAccount = Pick<PaymentFile, "debtor" | "debtor_account" | "debtor_bank"> & {
  /** Its name in our books. */
  name: string;
  /** The directory that the bank's transfer program empties; with a server, one of the server. */
  outbox: string;
  server?: SftpServer;
  /** The reports whose lines count: banks report the same money in several. */
  booked_by: AccountEntry["report"];
  /** For how many days a reference of the bank is of one line: some begin again each day. */
  reference_days: number;
  routes: readonly FileRoute[];
  /** What payers of onramps are told; null if this account takes none. */
  deposits: DepositAccount | null;
};

/** A line of an account of ours that moved money. */
export type BookedLine = AccountEntry & { bank_account: string };

export type DepositAccount = {
  currency: string;
  rails: readonly DepositRail[];
  bank_name: string;
  bank_address: string;
};

/** A bank's SFTP server. */
export type SftpServer = {
  host: string;
  port: number;
  user: string;
  /** One of both at least. */
  key_file: string | null;
  password_file: string | null;
  known_hosts_file: string;
};

/** A directory of a server that reports are fetched from. */
export type ReportSource = {
  name: string;
  server: SftpServer;
  folder: string;
  /** Whether fetched files are removed from the server. */
  is_removed: boolean;
};

/** The operator's file of banks. */
export type FileBankSettings = {
  /** The directory that the bank's transfer program fills with reports. */
  inbox: string;
  sources: readonly ReportSource[];
  accounts: readonly FileBankAccount[];
};

/**
 * | State     | Means                                             | Next                         |
 * | `open`    | takes payments until its window closes            | closed, or gone if empty     |
 * | `closed`  | payments, totals and time are fixed               | placing, or closed again     |
 * | `placing` | its bytes are on disk under a temporary name      | written                      |
 * | `written` | the bank can take it; payees' details are removed |                              |
 */
export type FileState = "open" | "closed" | "placing" | "written";

/** A file that is not open any more. */
export type ClosedFile = {
  id: string;
  bank_account: string;
  scheme: FileScheme;
  /** YYYY-MM-DD */
  execution_date: string;
  state: FileState;
  message_id: string;
  created_at: Date;
  payments: number;
  control_sum: string;
  /** Tells the NACHA files of a day apart. */
  modifier: string | null;
  /** Counts how often the content was fixed: a payment can be stopped until bytes are written. */
  revision: number;
  temporary_name: string | null;
};

const SHOWN_DIGITS = 4;

/** The account of ours that a report names by its number. */
export function accountOf(accounts: readonly FileBankAccount[], number: string): FileBankAccount {
  const account = accounts.find(({ debtor_account: id }) =>
    "iban" in id ? id.iban === number : id.number === number,
  );
  if (account) return account;
  const shown = `…${number.slice(-SHOWN_DIGITS)}`;
  throw new UnreadableFile(`A statement is of the account ${shown}, not of one in the banks file.`);
}

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
