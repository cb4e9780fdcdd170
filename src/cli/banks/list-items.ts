import type { Core } from "../../app/open-core.ts";
import { CURRENCIES } from "../../catalogue/currencies.ts";
import {
  CORRECTION_DETAILS,
  type CorrectionDetails,
} from "../../partners/bank/file-bank/ach/apply-ach-items.ts";
import { type LineDetails, openLine } from "../../partners/bank/file-bank/line-details.ts";
import type { FileBankSettings } from "../../partners/bank/file-bank/model.ts";
import {
  listOpenCorrections,
  listOpenLines,
  listOpenStatuses,
  listSetAsideReasons,
  type OpenCorrection,
  type OpenLine,
  type OpenStatus,
} from "../../partners/bank/file-bank/open-item-store.ts";
import { listSetAside } from "../../partners/bank/file-bank/read-inbox.ts";
import { listHandReturns } from "../../partners/bank/file-bank/returns/return-store.ts";
import { minorToText } from "../../platform/money.ts";

const ITEMS_SHOWN = 1_000;
const SHOWN_DIGITS = 4;

type BankItems = Awaited<ReturnType<typeof listBankItems>>;

/** What waits for the operator, without names, accounts and texts. */
export async function listBankItems({ database, keyring }: Core, { inbox }: FileBankSettings) {
  const [lines, statuses, corrections, reasons, returns] = [
    await listOpenLines(database, ITEMS_SHOWN),
    await listOpenStatuses(database, ITEMS_SHOWN),
    await listOpenCorrections(database, ITEMS_SHOWN),
    await listSetAsideReasons(database),
    await listHandReturns(database, ITEMS_SHOWN),
  ];
  const keys = await keyring.openAccounts(database, corrections);
  const why = new Map(reasons.map((row) => [row.name, row]));
  return {
    files: listSetAside(inbox).map((name) => ({
      name,
      problem: why.get(name)?.problem ?? "It was put there by hand.",
      since: why.get(name)?.since ?? null,
    })),
    lines: lines.map(toLine),
    statuses: statuses.map(toStatus),
    returns: returns.map((row) => ({
      id: `return-${row.number}`,
      ...{ bank_account: row.bank_account, bank_reference: row.bank_reference },
      amount: minorToText(row.amount, CURRENCIES.get(row.currency)!.minor_digits),
      ...{ currency: row.currency, problem: row.problem, since: row.created_at },
    })),
    corrections: corrections.map((row) => {
      const { corrected } = openCorrection(keys.get(row.account_id)!, row);
      return { ...toCorrection(row), corrected: corrected && masked(corrected) };
    }),
  };
}

/** The names, accounts and texts of one item; undefined if it is not in the list. */
export async function findItemDetails(
  { database, keyring, first_start }: Core,
  id: string,
): Promise<LineDetails | CorrectionDetails | undefined> {
  const operator_id = first_start.operator.id;
  const line = (await listOpenLines(database, ITEMS_SHOWN)).find((row) => lineId(row) === id);
  if (line) {
    const key = await keyring.openAccount(database, operator_id);
    return openLine(operator_id, key, line);
  }
  const corrections = await listOpenCorrections(database, ITEMS_SHOWN);
  const correction = corrections.find((row) => correctionId(row) === id);
  if (!correction) return undefined;
  const key = await keyring.openAccount(database, correction.account_id);
  return openCorrection(key, correction);
}

const lineId = ({ number }: Pick<OpenLine, "number">) => `line-${number}`;
const correctionId = ({ number }: Pick<OpenCorrection, "number">) => `correction-${number}`;

function openCorrection(key: Buffer, row: OpenCorrection): CorrectionDetails {
  const { account_id, end_to_end_id, code } = row;
  return CORRECTION_DETAILS.open(key, { account_id, id: `${end_to_end_id} ${code}` }, row.details);
}

function toLine(row: OpenLine) {
  const { bank_account, kind, currency, booked_on, problem, report } = row;
  const amount = minorToText(row.amount, CURRENCIES.get(currency)!.minor_digits);
  return { id: lineId(row), bank_account, kind, amount, currency, booked_on, problem, report };
}

function toStatus(row: OpenStatus) {
  const { level, status, message_id, end_to_end_id, trace_number, reason_codes, problem } = row;
  return {
    id: `status-${row.number}`,
    ...{ level, status, message_id, end_to_end_id, trace_number, reason_codes, problem },
    report: row.report,
  };
}

function toCorrection(row: OpenCorrection) {
  const { account_id, end_to_end_id, code, received_at } = row;
  return { id: correctionId(row), account_id, end_to_end_id, code, received_at };
}

/** What would be corrected, with the last characters of each value. */
function masked(corrected: NonNullable<CorrectionDetails["corrected"]>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(corrected).map(([name, value]) => [
      name,
      name === "account_type" ? value : `…${value.slice(-SHOWN_DIGITS)}`,
    ]),
  );
}

export function describeItems(items: BankItems): string[] {
  const { files, lines, statuses, returns, corrections } = items;
  return [
    ...files.map(({ name, problem }) => `${name}  could not be read\n  ${problem}`),
    ...lines.map(
      ({ id, bank_account, kind, amount, currency, booked_on, problem }) =>
        `${id}  ${bank_account}  ${kind} ${amount} ${currency} on ${booked_on ?? "no date"}` +
        `\n  ${problem}`,
    ),
    ...statuses.map(({ id, status, level, reason_codes, problem, ...ids }) => {
      const named = ids.end_to_end_id ?? ids.message_id ?? ids.trace_number ?? "no id";
      const codes = reason_codes.length > 0 ? ` (${reason_codes.join(", ")})` : "";
      return `${id}  ${status} ${level} ${named}${codes}\n  ${problem}`;
    }),
    ...returns.map(
      ({ id, amount, currency, bank_reference, problem }) =>
        `${id}  send ${amount} ${currency} back (deposit ${bank_reference})\n  ${problem}` +
        `\n  Once the bank has done it: sliproad banks settle ${id} --reason "…"`,
    ),
    ...corrections.map(({ id, end_to_end_id, code, corrected }) => {
      const fields = Object.entries(corrected ?? {}).map(([name, value]) => `${name} ${value}`);
      const told = fields.join(", ") || "see its text";
      return `${id}  ${code} for payment ${end_to_end_id}\n  ${told}`;
    }),
  ];
}
