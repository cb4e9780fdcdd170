import { createHash } from "node:crypto";
import type { XmlElement } from "../../xml-element.ts";
import type { AccountBalance, AccountEntry, ReportItem, Statement } from "../report.ts";
import { UnreadableFile } from "../unreadable-file.ts";
import {
  readAccount,
  readCode,
  readDay,
  readId,
  readMoney,
  requireIsDebit,
  requireMoney,
} from "./element-values.ts";
import {
  type EntryDetail,
  isReturnCode,
  joinTexts,
  readBankCodes,
  readCharges,
  readDetail,
} from "./entry-detail.ts";
import type { PartReader } from "./read-document.ts";
import { type EntryPart, splitEntry } from "./split-entry.ts";

const STATES: Readonly<Record<string, AccountEntry["state"]>> = {
  BOOK: "booked",
  PDNG: "pending",
  INFO: "information",
  FUTR: "information",
};

const BALANCES: Readonly<Record<string, AccountBalance["type"]>> = {
  OPBD: "opening",
  PRCD: "opening",
  CLBD: "closing",
  ITBD: "interim",
  CLAV: "available",
};

/** Of one line, which are kept until its end. */
const DETAILS_MAX = 300_000;

/** Reads `camt.052`, `camt.053` and `camt.054`, which list lines of an account the same way. */
export function readAccountReport(report: AccountEntry["report"]): PartReader<ReportItem> {
  let details: EntryDetail[] = [];
  let batches: XmlElement[] = [];
  let lines = new StatementLines(report);
  let statements = 0;
  return {
    isComplete: () => statements > 0,
    parts: new Set(["TxDtls", "NtryDtls", "Ntry", "Stmt", "Ntfctn", "Rpt"]),
    take: (part, parents) => {
      switch (part.name) {
        case "TxDtls":
          if (details.length === DETAILS_MAX) {
            throw new UnreadableFile(`An entry of the file has more than ${DETAILS_MAX} details.`);
          }
          details.push(readDetail(part));
          return [];
        case "NtryDtls":
          batches.push(...part.all("Btch"));
          return [];
        case "Ntry": {
          const items = lines.readEntry(part, parents.at(-1)!, details, batches);
          details = [];
          batches = [];
          return items.map((item) => ({ ...item, report }));
        }
        default: {
          const items = lines.end(part);
          statements += 1;
          lines = new StatementLines(report);
          return items.map((item) => (item.kind === "statement" ? { ...item, report } : item));
        }
      }
    },
  };
}

/** The lines of one statement, in its order. */
class StatementLines {
  readonly #report: AccountEntry["report"];
  /** A statement never lists one line twice: equal ones are several, and are counted. */
  readonly #occurrences = new Map<string, number>();
  #entries = 0;
  /** Looked for once: a statement may have thousands of elements before its lines. */
  #origin: Origin | null = null;
  /** Sum of the booked lines by currency; debits are negative. */
  readonly #booked = new Map<string, bigint>();

  constructor(report: AccountEntry["report"]) {
    this.#report = report;
  }

  readEntry(
    element: XmlElement,
    statement: XmlElement,
    details: readonly EntryDetail[],
    batches: readonly XmlElement[],
  ): Omit<AccountEntry, "report">[] {
    this.#origin ??= readOrigin(statement);
    const place = `entry ${this.#entries + 1} of statement ${this.#origin.name}`.trim();
    const money = requireMoney(element.find("Amt"), place);
    const is_debit = requireIsDebit(element.read("CdtDbtInd"), place);
    const facts = { ...money, is_debit, charges: readCharges(element) };
    const common = readCommon(element, this.#origin, this.#report);
    this.#entries += 1;
    if (common.state === "booked") {
      const before = this.#booked.get(money.currency) ?? 0n;
      this.#booked.set(money.currency, before + (is_debit ? -money.amount : money.amount));
    }
    const entry_key = this.#keyOf([
      ...[common.account, common.booked_on, String(money.amount), money.currency, is_debit],
      ...(common.bank_reference ? [common.bank_reference] : [common.text, ...contentOf(details)]),
    ]);
    const is_return = element.read("RvslInd") === "true" || isReturnCode(element.find("BkTxCd"));
    const parts = splitEntry(facts, details);
    const batch = batches.length === 1 ? batches[0] : undefined;
    return parts.map((part, at) => ({
      ...common,
      ...idsOf(part.detail, batch),
      kind: kindOf(part, is_return),
      entry_key,
      part: at,
      parts: parts.length,
      amount: part.amount,
      currency: money.currency,
      bank_reference: part.detail?.bank_reference ?? common.bank_reference,
      line_reference: referenceOf(common.bank_reference, part, at),
      bank_code: part.detail?.bank_code ?? common.bank_code,
      codes: [...common.codes, ...(part.detail?.codes ?? [])],
      batch_count: details.length === 0 ? countOf(batches) : null,
      debtor: part.detail?.debtor ?? NOBODY,
      creditor: part.detail?.creditor ?? NOBODY,
      text: joinTexts([part.detail?.text ?? null, common.text]),
      reasons: part.detail?.reasons ?? [],
      problem: part.problem ?? (common.state === "unknown" ? "This line has no status." : null),
    }));
  }

  end(statement: XmlElement): (AccountBalance | Omit<Statement, "report">)[] {
    const account = requireAccount(statement);
    const statement_id = readId(statement, "Id");
    const balances = this.#signedBalances(
      statement.all("Bal").flatMap((one) => readBalance(one, account) ?? []),
    );
    const page = statement.read("StmtPgntn", "PgNb") ?? statement.read("NtfctnPgntn", "PgNb");
    const last =
      statement.read("StmtPgntn", "LastPgInd") ?? statement.read("NtfctnPgntn", "LastPgInd");
    return [
      ...balances.map((balance) => ({ ...balance, statement_id })),
      {
        kind: "statement",
        account,
        statement_id,
        sequence: statement.read("ElctrncSeqNb") ?? statement.read("LglSeqNb"),
        page,
        is_last_page: last === null ? null : last === "true",
        is_copy: statement.read("CpyDplctInd") !== null,
        entries: this.#entries,
        adds_up: this.#addsUp(balances),
      },
    ];
  }

  /** Balances without a sign are credits if the statement adds up so; else they are left out. */
  #signedBalances(balances: readonly UnsignedBalance[]): Omit<AccountBalance, "statement_id">[] {
    const assumed = balances.map((one) => ({ ...one, is_debit: one.is_debit ?? false }));
    const is_certain = this.#addsUp(assumed) === true;
    return assumed.filter((_, at) => is_certain || balances[at]!.is_debit !== null);
  }

  #addsUp(balances: readonly Omit<AccountBalance, "statement_id">[]): boolean | null {
    const opening = balances.filter(({ type }) => type === "opening");
    const closing = balances.filter(({ type }) => type === "closing");
    // Pages other than the first and last have interim balances only.
    if (opening.length !== 1 || closing.length !== 1) return null;
    if (opening[0]!.currency !== closing[0]!.currency) return null;
    const booked = this.#booked.get(opening[0]!.currency) ?? 0n;
    return signed(opening[0]!) + booked === signed(closing[0]!);
  }

  #keyOf(content: readonly unknown[]): string {
    const base = createHash("sha256").update(JSON.stringify(content)).digest("hex");
    const occurrence = (this.#occurrences.get(base) ?? 0) + 1;
    this.#occurrences.set(base, occurrence);
    return `${base}-${occurrence}`;
  }
}

type UnsignedBalance = Omit<AccountBalance, "statement_id" | "is_debit"> & {
  is_debit: boolean | null;
};

/** The statement that a line is of. */
type Origin = { name: string; account: string; statement_id: string | null };

function readOrigin(statement: XmlElement): Origin {
  return {
    name: statement.read("Id") ?? "",
    account: requireAccount(statement),
    statement_id: readId(statement, "Id"),
  };
}

const NOBODY = { name: null, account: null };

function readCommon(
  element: XmlElement,
  { account, statement_id }: Origin,
  report: AccountEntry["report"],
) {
  // A statement lists what was booked, unless it says otherwise; other reports do not.
  const status = readCode(element.find("Sts")) ?? (report === "camt.053" ? "BOOK" : null);
  const valued_on = readDay(element.find("ValDt"));
  return {
    account,
    statement_id,
    state:
      status !== null && Object.hasOwn(STATES, status) ? STATES[status]! : ("unknown" as const),
    booked_on: readDay(element.find("BookgDt")) ?? valued_on,
    valued_on,
    bank_reference: readId(element, "AcctSvcrRef"),
    ...readBankCodes(element.find("BkTxCd")),
    text: element.read("AddtlNtryInf") ?? "",
  };
}

/**
 * A balance moves no money: one that cannot be read with certainty counts as absent. Some banks
 * write a sign before the amount instead of `CdtDbtInd`.
 */
function readBalance(balance: XmlElement, account: string): UnsignedBalance | null {
  const amount = balance.find("Amt");
  const has_minus = amount?.text.trim().startsWith("-") ?? false;
  if (amount && has_minus) amount.text = amount.text.trim().slice(1);
  const money = readMoney(amount);
  const sign = balance.read("CdtDbtInd")?.toUpperCase() ?? (has_minus ? "DBIT" : null);
  // Both a minus and a sign of its own: nobody knows which one counts.
  if (!money || (has_minus && sign === "CRDT")) return null;
  const bank_type = readCode(balance.find("Tp", "CdOrPrtry"));
  return {
    kind: "balance",
    account,
    type: bank_type !== null && Object.hasOwn(BALANCES, bank_type) ? BALANCES[bank_type]! : "other",
    bank_type,
    ...money,
    is_debit: isDebit(sign, money.amount),
    date: readDay(balance.find("Dt")),
  };
}

/** Null if the bank does not say so; zero has no sign. */
function isDebit(sign: string | null, amount: bigint): boolean | null {
  if (amount === 0n) return false;
  return sign === "DBIT" || sign === "CRDT" ? sign === "DBIT" : null;
}

function requireAccount(statement: XmlElement): string {
  const account = readAccount(statement.find("Acct"));
  if (account === null)
    throw new UnreadableFile("A statement does not say which account it is of.");
  return account;
}

function kindOf(part: EntryPart, is_line_returned: boolean): AccountEntry["kind"] {
  if (part.is_charge) return "charge";
  const is_return = is_line_returned || part.detail?.is_return === true;
  if (part.is_debit) return is_return ? "taken_back" : "booked";
  return is_return ? "returned" : "incoming";
}

function idsOf(detail: EntryDetail | null, batch: XmlElement | undefined) {
  return {
    message_id: detail?.message_id ?? readId(batch, "MsgId"),
    batch_id: detail?.batch_id ?? readId(batch, "PmtInfId"),
    instruction_id: detail?.instruction_id ?? null,
    end_to_end_id: detail?.end_to_end_id ?? null,
    uetr: detail?.uetr ?? null,
    transaction_id: detail?.transaction_id ?? null,
  };
}

function referenceOf(of_line: string | null, { detail }: EntryPart, at: number): string | null {
  if (of_line === null) return detail?.own_reference ?? null;
  return at === 0 ? of_line : null;
}

function countOf(batches: readonly XmlElement[]): number | null {
  const counts = batches.map((batch) => Number(batch.read("NbOfTxs") ?? Number.NaN));
  const sum = counts.reduce((total, count) => total + count, 0);
  return counts.length > 0 && Number.isSafeInteger(sum) ? sum : null;
}

/** What tells a line without a reference of the bank from others. */
function contentOf(details: readonly EntryDetail[]): (string | null)[] {
  return details.flatMap((detail) => [
    ...[detail.end_to_end_id, detail.transaction_id, detail.uetr, detail.bank_reference],
    ...[detail.debtor.account, detail.creditor.account, detail.text],
  ]);
}

function signed({ amount, is_debit }: Pick<AccountBalance, "amount" | "is_debit">): bigint {
  return is_debit ? -amount : amount;
}
