import type { XmlElement } from "../../xml-element.ts";
import type { AccountEntry, PaymentIds } from "../report.ts";
import {
  type Money,
  readAccount,
  readCode,
  readId,
  readMoney,
  readReasons,
} from "./element-values.ts";

/** Sub-families of payments that came back. */
const RETURNS: ReadonlySet<string> = new Set(["RRTN", "RPCR"]);
/** Between texts of different fields, so that no code arises from the end of one and the next. */
const BETWEEN_FIELDS = " | ";

/** What a line's details say about one payment; small, since a line can have thousands. */
export type EntryDetail = PaymentIds &
  Pick<
    AccountEntry,
    | "bank_reference"
    | "transaction_id"
    | "bank_code"
    | "codes"
    | "debtor"
    | "creditor"
    | "text"
    | "reasons"
  > & {
    /** The bank's name of this payment, in a field of its own. */
    own_reference: string | null;
    /** Every amount stated, the one that was booked first. */
    amounts: readonly Money[];
    is_debit: boolean | null;
    charges: readonly Charge[];
    is_return: boolean;
  };

/** A fee; negative if the bank gave it back. */
export type Charge = Money;

export function readDetail(details: XmlElement): EntryDetail {
  const refs = details.find("Refs");
  const returned = details.find("RtrInf");
  const reasons = returned ? readReasons([returned]) : [];
  const direction = details.read("CdtDbtInd");
  const end_to_end_id = readId(refs, "EndToEndId");
  const own_reference = readId(refs, "AcctSvcrRef");
  return {
    message_id: readId(refs, "MsgId"),
    batch_id: readId(refs, "PmtInfId"),
    instruction_id: readId(refs, "InstrId"),
    end_to_end_id,
    uetr: readId(refs, "UETR"),
    own_reference,
    bank_reference: own_reference ?? readId(refs, "Prtry", "Ref"),
    transaction_id: readId(refs, "TxId"),
    ...readBankCodes(details.find("BkTxCd")),
    amounts: readAmounts(details),
    is_debit: direction === null ? null : direction === "DBIT",
    charges: readCharges(details),
    is_return: reasons.length > 0 || isReturnCode(details.find("BkTxCd")),
    ...readParties(details),
    text: joinTexts([...readTexts(details), end_to_end_id]),
    reasons,
  };
}

/** Up to version 06 a party's name stands in the party itself, later in `Pty`. */
function readParties(details: XmlElement): Pick<AccountEntry, "debtor" | "creditor"> {
  const parties = details.find("RltdPties");
  const party = (name: string) => ({
    name:
      parties?.read(name, "Nm") ??
      parties?.read(name, "Pty", "Nm") ??
      parties?.read(name, "Agt", "FinInstnId", "Nm") ??
      null,
    account: readAccount(parties?.find(`${name}Acct`)),
  });
  return { debtor: party("Dbtr"), creditor: party("Cdtr") };
}

/** Domain, family and sub-family, such as PMNT/RCDT/ESCT, and the bank's own code. */
export function readBankCodes(
  code: XmlElement | undefined,
): Pick<AccountEntry, "bank_code" | "codes"> {
  const family = code?.find("Domn", "Fmly");
  const parts = [code?.read("Domn", "Cd"), family?.read("Cd"), family?.read("SubFmlyCd")];
  const iso = parts.filter(Boolean).join("/");
  const own = readCode(code);
  return { bank_code: iso || own, codes: [iso, own ?? ""].filter(Boolean) };
}

export function isReturnCode(code: XmlElement | undefined): boolean {
  return RETURNS.has(code?.read("Domn", "Fmly", "SubFmlyCd") ?? "");
}

/** Version 02 repeats `Chrgs`; later ones have one with a `Rcrd` for each fee. */
export function readCharges(element: XmlElement): Charge[] {
  return element.all("Chrgs").flatMap((charges) => {
    const records = charges.all("Rcrd");
    const read = (records.length > 0 ? records : [charges]).flatMap((record) => {
      const money = readMoney(record.find("Amt"));
      if (!money) return [];
      const is_refund = record.read("CdtDbtInd") === "CRDT";
      return [{ ...money, amount: is_refund ? -money.amount : money.amount }];
    });
    const total = readMoney(charges.find("TtlChrgsAndTaxAmt"));
    return read.length > 0 || !total ? read : [total];
  });
}

export function joinTexts(texts: readonly (string | null)[]): string {
  return texts.filter((text) => text !== null && text !== "").join(BETWEEN_FIELDS);
}

function readAmounts(details: XmlElement): Money[] {
  const stated = details.find("AmtDtls");
  const places = [
    details.find("Amt"),
    stated?.find("TxAmt", "Amt"),
    stated?.find("CntrValAmt", "Amt"),
    stated?.find("InstdAmt", "Amt"),
  ];
  return places.flatMap((place) => readMoney(place) ?? []);
}

function readTexts(details: XmlElement): (string | null)[] {
  const remittance = details.find("RmtInf");
  const structured = remittance?.all("Strd") ?? [];
  return [
    // Banks cut one text into lines.
    remittance?.texts("Ustrd").join(" ") ?? null,
    ...structured.flatMap((one) => [
      one.read("CdtrRefInf", "Ref"),
      one.texts("AddtlRmtInf").join(" "),
    ]),
    details.read("AddtlTxInf"),
  ];
}
