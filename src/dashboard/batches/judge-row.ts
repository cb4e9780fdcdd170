import type { Catalogue } from "../../catalogue/catalogue.ts";
import {
  ACCOUNT_IDENTIFIERS,
  BANK_IDENTIFIERS,
  FIELD_NAMES,
  type FieldName,
} from "../../catalogue/payment-detail-fields.ts";
import { DEFAULT_RAIL, type Rail } from "../../catalogue/rails.ts";
import { checkItemTerms, type PricedTerms } from "../../offramps/check-item-terms.ts";
import type { CheckedItem } from "../../offramps/check-items.ts";
import { checkNewOfframps } from "../../offramps/routes.ts";
import {
  checkPaymentDetail,
  type PaymentDetail,
  type PaymentDetailFields,
} from "../../payment-details/model.ts";
import { hashPayee, isBankByName, plainBankName } from "../../payment-details/payee.ts";
import type { Problem } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { Problems } from "../../platform/problems.ts";
import type { Prices } from "../../prices/price-book.ts";
import { type Batch, type BatchRow, CELL_NAMES, type CellName } from "./model.ts";

export type CellProblem = {
  cell: CellName;
  /** Duplicates can be acknowledged; warnings are for the reader only. */
  severity: "error" | "warning" | "duplicate";
  code: string;
  message: string;
};

/** A row as far as it can be read without the database. */
export type ReadRow = {
  row: BatchRow;
  fields: PaymentDetailFields;
  detail_problems: readonly Problem[];
  item: CheckedItem;
  item_problems: readonly Problem[];
  /** The body of the payout, without its payee. */
  requested: Record<string, unknown>;
  /** The blind index of the bank account, in hex; null where no account is named. */
  payee_index: string | null;
};

export type RowDeps = Parameters<typeof checkNewOfframps>[0] & {
  catalogue: Catalogue;
  index_key: Buffer;
};

/** Stands for the payee of a payout until its bank account is known. */
const UNKNOWN_PAYEE = "00000000-0000-7000-8000-000000000000";

export function readRow(deps: RowDeps, batch: Batch, row: BatchRow, today: string): ReadRow {
  const { cells } = row;
  const given = Object.fromEntries(FIELD_NAMES.map((name) => [name, cells[name] ?? null]));
  const { fields, problems } = checkPaymentDetail(deps.catalogue, given, today, []);
  const requested = {
    destination_amount: cells.amount ?? null,
    destination_currency: cells.currency ?? null,
    ...(cells.rails ? { rails: cells.rails } : {}),
    ...(cells.reference ? { reference: cells.reference } : {}),
    ...(cells.document_url
      ? { supporting_document_attributes: { submitted_url: cells.document_url } }
      : {}),
  };
  const payment_detail_id = cells.payment_detail_id || UNKNOWN_PAYEE;
  const checked = checkNewOfframps(deps, batch.user_id, [{ ...requested, payment_detail_id }], []);
  const { account_id } = batch;
  const hash = hashPayee(deps.index_key, deps.catalogue, { account_id, fields });
  return {
    row,
    fields,
    detail_problems: problems,
    item: checked.items[0]!,
    item_problems: checked.problems,
    requested,
    payee_index: hash?.toString("hex") ?? null,
  };
}

/** What is known of the bank accounts that rows name. */
export type KnownPayees = {
  by_index: ReadonlyMap<string, readonly PaymentDetail[]>;
  by_id: ReadonlyMap<string, PaymentDetail>;
};

export type JudgedRow = {
  read: ReadRow;
  problems: CellProblem[];
  /** Known: this bank account is paid. New: one is created. Null: the row does not say whom. */
  payee: { known: PaymentDetail } | { new: PaymentDetailFields } | null;
  priced: PricedTerms | null;
};

export function judgeRow(
  { catalogue }: Pick<RowDeps, "catalogue">,
  batch: Batch,
  read: ReadRow,
  known: KnownPayees,
  prices: Prices | null,
): JudgedRow {
  const cells = new CellProblems();
  const payee = findPayee(catalogue, read, known, cells);
  const detail = payee && ("known" in payee ? payee.known : asDetail(batch, payee.new));
  cells.add(read.item_problems);
  let priced: PricedTerms | null = null;
  // Without a currency nothing is said about its rails and minimum.
  if (detail?.fields.currency && detail.fields.rails && prices) {
    const found = new Problems();
    const { report } = found.within("offramps[0]");
    priced = checkItemTerms(catalogue, read.item, detail, { prices, quote: batch, report });
    cells.add(found.list);
  }
  return { read, problems: cells.list, payee, priced };
}

function findPayee(
  catalogue: Catalogue,
  read: ReadRow,
  known: KnownPayees,
  cells: CellProblems,
): JudgedRow["payee"] {
  const { row, fields, detail_problems } = read;
  const { payment_detail_id } = row.cells;
  if (payment_detail_id) {
    const detail = isId(payment_detail_id) && known.by_id.get(payment_detail_id.toLowerCase());
    if (detail) {
      for (const name of contradictions(detail, fields)) {
        cells.error(name, "record_invalid", "The bank account with this id has another one.");
      }
      return { known: detail };
    }
    cells.error(
      "payment_detail_id",
      "record_not_found",
      "No bank account of the payer has this id.",
    );
    return null;
  }
  const same_number = read.payee_index ? (known.by_index.get(read.payee_index) ?? []) : [];
  const same_account = same_number.filter((one) => isSameAccount(catalogue, one, fields));
  const usable = same_account.filter((one) => isSameRoute(one, fields, row));
  const [detail] = usable.filter((one) => isSameName(one, fields.account_name));
  if (detail) {
    // What is given must be right; what is missing is known.
    cells.add(detail_problems.filter(({ code }) => code !== "parameter_missing"));
    return { known: detail };
  }
  cells.add(detail_problems);
  const [other] = same_account;
  if (other && fields.account_name && !isSameName(other, fields.account_name)) {
    const message = `This account is known under another name: ${other.fields.account_name}.`;
    cells.warn("account_name", "other_name", message);
  }
  return { new: fields };
}

/**
 * The blind index leaves the bank out, so that limits count an account once however it is named.
 * Two banks may have accounts of one number: whom a row pays is decided by all of its identifiers.
 * An IBAN names its bank, which only SWIFT also reaches by a BIC; where no identifier says which
 * bank it is, its name decides.
 */
function isSameAccount(
  catalogue: Catalogue,
  { fields: known }: PaymentDetail,
  fields: PaymentDetailFields,
): boolean {
  const rail = (known.rails ?? DEFAULT_RAIL) as Rail;
  const is_by_name = isBankByName(catalogue, { fields: known, rail });
  if (is_by_name && plainBankName(known.bank_name) !== plainBankName(fields.bank_name)) {
    return false;
  }
  const names = [...ACCOUNT_IDENTIFIERS, ...BANK_IDENTIFIERS];
  const may_lack = fields.iban !== null && known.rails !== "swift";
  return names.every((name) =>
    fields[name] === null && may_lack ? true : fields[name] === known[name],
  );
}

function isSameRoute(
  { status, fields: known }: PaymentDetail,
  fields: PaymentDetailFields,
  { cells }: BatchRow,
): boolean {
  if (status !== "approved" && status !== "pending") return false;
  return known.currency === fields.currency && (!cells.rails || known.rails === fields.rails);
}

/** What a row shows of its payee although the bank account that it names by id has another. */
function contradictions(detail: PaymentDetail, fields: PaymentDetailFields): FieldName[] {
  const names = [...ACCOUNT_IDENTIFIERS, ...BANK_IDENTIFIERS];
  const others = names.filter((name) => fields[name] && fields[name] !== detail.fields[name]);
  const { account_name } = fields;
  return account_name && !isSameName(detail, account_name) ? ["account_name", ...others] : others;
}

function isSameName({ fields }: PaymentDetail, name: string | null): boolean {
  return name !== null && plainName(fields.account_name ?? "") === plainName(name);
}

function plainName(name: string): string {
  return name.normalize("NFKC").toLowerCase().split(/\s+/).filter(Boolean).join(" ");
}

function asDetail(batch: Batch, fields: PaymentDetailFields): PaymentDetail {
  const { account_id, user_id, created_at, updated_at } = batch;
  const rest = { sequence: 0, created_at, updated_at };
  return { account_id, id: UNKNOWN_PAYEE, user_id, status: "approved", fields, ...rest };
}

const CELL_OF_FIELD: Readonly<Record<string, CellName>> = {
  destination_amount: "amount",
  destination_currency: "currency",
  "supporting_document_attributes.submitted_url": "document_url",
};
const KNOWN_CELLS: ReadonlySet<string> = new Set(CELL_NAMES);

/** One problem of each severity per cell. */
class CellProblems {
  readonly list: CellProblem[] = [];

  error(cell: CellName, code: string, message: string): void {
    this.#push({ cell, severity: "error", code, message });
  }

  warn(cell: CellName, code: string, message: string): void {
    this.#push({ cell, severity: "warning", code, message });
  }

  /** Those that the checks of the API found, in the cells that they come from. */
  add(problems: readonly Problem[]): void {
    for (const { field, code, message } of problems) {
      this.error(cellOf(field), code, message);
    }
  }

  #push(problem: CellProblem): void {
    const { cell, severity } = problem;
    const isThere = this.list.some((one) => one.cell === cell && one.severity === severity);
    if (!isThere) this.list.push(problem);
  }
}

function cellOf(field: string): CellName {
  const name = field.replace(/^(?:offramps\[0\]|payment_detail)\./, "");
  const cell = CELL_OF_FIELD[name] ?? name;
  return KNOWN_CELLS.has(cell) ? (cell as CellName | FieldName) : "account_name";
}
