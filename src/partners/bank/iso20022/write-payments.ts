import { parseDate } from "../../../catalogue/dates.ts";
import { ControlSum, formatAmount } from "./amount-text.ts";
import { fitName, fitText } from "./bank-text.ts";
import { checkTransfer, isIsoPurpose, isPaymentId } from "./check-transfer.ts";
import {
  type AccountId,
  type BankId,
  type CreditTransfer,
  type PaymentFile,
  type PostalAddress,
  SCHEMES,
} from "./credit-transfer.ts";
import { element, textElement } from "./xml-text.ts";

const NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09";
const NAME_LENGTH_OF_BANK = 140;
const REMITTANCE_LENGTH = 140;
const ADDRESS = { line: 70, postal_code: 16, town: 35, state: 35 };

/** Number and sum of the payments, as they stand at the head of the file. */
type FileTotals = { count: number; control_sum: string };

/**
 * A `pain.001.001.09` message in pieces, one payment at a time. The totals stand before the
 * payments, so they are given; if the payments differ from them the last piece is never written and
 * the file must be thrown away.
 */
export async function* writePayments(
  file: PaymentFile,
  totals: FileTotals,
  transfers: AsyncIterable<CreditTransfer> | Iterable<CreditTransfer>,
): AsyncGenerator<string> {
  requireFile(file, totals);
  yield head(file, totals);
  const written = new ControlSum();
  const ids = new Set<string>();
  for await (const transfer of transfers) {
    const [problem] = checkTransfer(file.scheme, transfer);
    if (problem) throw new Error(`${transfer.end_to_end_id}: ${problem.message}`);
    if (ids.has(transfer.end_to_end_id)) {
      throw new Error(`${transfer.end_to_end_id} stands twice in a file`);
    }
    ids.add(transfer.end_to_end_id);
    written.add(transfer.amount, transfer.currency);
    yield payment(file, transfer);
  }
  if (written.count !== totals.count || String(written) !== totals.control_sum) {
    throw new Error(
      `the payments of file ${file.message_id} are ${written.count} with a sum of ${written}, ` +
        `not ${totals.count} with ${totals.control_sum}`,
    );
  }
  yield "</PmtInf></CstmrCdtTrfInitn></Document>\n";
}

function requireFile(file: PaymentFile, totals: FileTotals): void {
  const bearers: readonly string[] = SCHEMES[file.scheme].charge_bearers;
  if (!isPaymentId(file.message_id)) throw new Error("a message id has up to 35 letters or digits");
  if (totals.count === 0) throw new Error("a file has at least one payment");
  if (!bearers.includes(file.charge_bearer)) {
    throw new Error(`${file.scheme} does not know the charge bearer ${file.charge_bearer}`);
  }
  if (parseDate(file.execution_date) !== file.execution_date) {
    throw new Error("an execution date is YYYY-MM-DD");
  }
}

function head(file: PaymentFile, { count, control_sum }: FileTotals): string {
  const { service_level, name_length } = SCHEMES[file.scheme];
  const sums = textElement("NbOfTxs", String(count)) + textElement("CtrlSum", control_sum);
  const name = textElement("Nm", fitName(file.debtor.name, name_length));
  return (
    `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${NAMESPACE}"><CstmrCdtTrfInitn>` +
    element(
      "GrpHdr",
      textElement("MsgId", file.message_id) +
        textElement("CreDtTm", `${file.created_at.toISOString().slice(0, 19)}Z`) +
        sums +
        element("InitgPty", name),
    ) +
    `\n<PmtInf>${textElement("PmtInfId", file.message_id)}<PmtMtd>TRF</PmtMtd>` +
    textElement("BtchBookg", String(file.is_batch_booked)) +
    sums +
    element("PmtTpInf", element("SvcLvl", textElement("Cd", service_level))) +
    element("ReqdExctnDt", textElement("Dt", file.execution_date)) +
    element("Dbtr", name + postalAddress(file.debtor.address, file.address_form)) +
    element("DbtrAcct", accountId(file.debtor_account)) +
    element("DbtrAgt", bankId(file.debtor_bank)) +
    textElement("ChrgBr", file.charge_bearer)
  );
}

function payment(file: PaymentFile, transfer: CreditTransfer): string {
  const { is_uetr_sent, name_length } = SCHEMES[file.scheme];
  const { creditor, creditor_bank, intermediary_bank, currency } = transfer;
  const amount = formatAmount(transfer.amount, currency);
  return `\n${element(
    "CdtTrfTxInf",
    element(
      "PmtId",
      textElement("InstrId", transfer.end_to_end_id) +
        textElement("EndToEndId", transfer.end_to_end_id) +
        textElement("UETR", is_uetr_sent ? transfer.uetr : null),
    ) +
      element("Amt", textElement("InstdAmt", amount, ` Ccy="${currency.toUpperCase()}"`)) +
      (intermediary_bank ? element("IntrmyAgt1", bankId(intermediary_bank)) : "") +
      (creditor_bank ? element("CdtrAgt", bankId(creditor_bank)) : "") +
      element(
        "Cdtr",
        textElement("Nm", fitName(creditor.name, name_length)) +
          postalAddress(creditor.address, file.address_form),
      ) +
      element("CdtrAcct", accountId(transfer.creditor_account)) +
      element("Purp", purposeCode(transfer.purpose)) +
      element("RmtInf", textElement("Ustrd", fitted(transfer.remittance, REMITTANCE_LENGTH))),
  )}`;
}

function postalAddress(address: PostalAddress | null, form: PaymentFile["address_form"]): string {
  if (!address) return "";
  const { line1, line2 } = address;
  const street = [line1, line2].filter((line) => line?.trim()).join(", ");
  const lines = [line1, line2].map((line) => textElement("AdrLine", fitted(line, ADDRESS.line)));
  return element(
    "PstlAdr",
    (form === "structured" ? textElement("StrtNm", fitted(street, ADDRESS.line)) : "") +
      textElement("PstCd", fitted(address.postal_code, ADDRESS.postal_code)) +
      textElement("TwnNm", fitText(address.town, ADDRESS.town)) +
      textElement("CtrySubDvsn", fitted(address.state, ADDRESS.state)) +
      textElement("Ctry", address.country) +
      (form === "hybrid" ? lines.join("") : ""),
  );
}

function purposeCode(purpose: string | null): string {
  return textElement(isIsoPurpose(purpose ?? "") ? "Cd" : "Prtry", purpose);
}

function accountId(account: AccountId): string {
  if ("iban" in account) return element("Id", textElement("IBAN", account.iban));
  return element("Id", element("Othr", textElement("Id", account.number)));
}

function bankId(bank: BankId): string {
  if ("bic" in bank) return element("FinInstnId", textElement("BICFI", bank.bic));
  const system = element("ClrSysId", textElement("Cd", bank.clearing_system));
  return element(
    "FinInstnId",
    element("ClrSysMmbId", system + textElement("MmbId", bank.member_id)) +
      textElement("Nm", fitted(bank.name, NAME_LENGTH_OF_BANK)) +
      element("PstlAdr", textElement("Ctry", bank.country)),
  );
}

function fitted(text: string | null, characters_max: number): string | null {
  return text === null ? null : fitText(text, characters_max);
}
