import type { XmlElement } from "../../xml-element.ts";
import type { BankReason, PaymentStatus } from "../report.ts";
import { readAccount, readId, readMoney, readReasons } from "./element-values.ts";
import type { PartReader } from "./read-document.ts";

type Outcome = Pick<PaymentStatus, "outcome" | "is_final">;

/** ISO external status codes. A settled payment is final here; its return comes as an entry. */
const OUTCOMES: Readonly<Record<string, Outcome>> = {
  ...outcome("rejected", true, "RJCT CANC BLCK"),
  ...outcome("accepted", true, "ACCC ACSC"),
  ...outcome("accepted", false, "ACTC PATC ACCP ACFC ACSP ACWC ACWP"),
  ...outcome("pending", false, "RCVD PDNG"),
  ...outcome("partial", false, "PART"),
};
const UNKNOWN: Outcome = { outcome: "unknown", is_final: false };

/** A status of an element, or of the one around it. */
type Heard = { status: string | null; reasons: readonly BankReason[] };

/** What a batch says of all its payments. */
type Batch = { element: XmlElement; heard: Heard; batch_id: string | null };

/**
 * Reads `pain.002`. A payment that is listed without a status of its own has that of its batch or
 * file.
 */
export function readPaymentStatuses(): PartReader<PaymentStatus> {
  let report_id: string | null = null;
  let message_id: string | null = null;
  let has_file = false;
  let file: Heard = { status: null, reasons: [] };
  /** Reports on the transmission by EBICS have this form too, but name none of our files. */
  let is_transmission = false;
  /** Read once for all its payments: thousands of elements may precede them. */
  let current: Batch | null = null;

  const statusOf = (
    level: PaymentStatus["level"],
    heard: Heard,
    batch_id: string | null,
    payment?: XmlElement,
  ): PaymentStatus => {
    const reference = payment?.find("OrgnlTxRef");
    const ordered = readMoney(reference?.find("Amt", "InstdAmt"));
    const known = heard.status !== null && Object.hasOwn(OUTCOMES, heard.status);
    return {
      kind: "status",
      level,
      ...(known ? OUTCOMES[heard.status!]! : UNKNOWN),
      status: heard.status,
      report_id,
      message_id,
      batch_id,
      instruction_id: readId(payment, "OrgnlInstrId"),
      end_to_end_id: readId(payment, "OrgnlEndToEndId"),
      uetr: readId(payment, "OrgnlUETR"),
      amount: ordered?.amount ?? null,
      currency: ordered?.currency ?? null,
      payee_account: readAccount(reference?.find("CdtrAcct")),
      reasons: heard.reasons,
    };
  };

  const readFile = (group: XmlElement) => {
    has_file = true;
    message_id = readId(group, "OrgnlMsgId");
    is_transmission = group.read("OrgnlMsgNmId") === "EBICS";
    file = heardIn(group, "GrpSts");
    return file.status === null || is_transmission ? [] : [statusOf("file", file, null)];
  };

  const readPayment = (payment: XmlElement, batch: XmlElement | undefined) => {
    if (is_transmission) return [];
    const own = heardIn(payment, "TxSts");
    if (current?.element !== batch) current = batch ? readBatch(batch) : null;
    const around = current && current.heard.status !== null ? current.heard : file;
    const heard = {
      status: own.status ?? around.status,
      reasons: own.reasons.length > 0 ? own.reasons : around.reasons,
    };
    return [statusOf("payment", heard, current?.batch_id ?? null, payment)];
  };

  return {
    isComplete: () => has_file,
    parts: new Set(["GrpHdr", "OrgnlGrpInfAndSts", "OrgnlPmtInfAndSts", "TxInfAndSts"]),
    take: (part, parents) => {
      const around = parents.at(-1);
      switch (part.name) {
        case "GrpHdr":
          report_id = readId(part, "MsgId");
          return [];
        case "OrgnlGrpInfAndSts":
          return readFile(part);
        case "TxInfAndSts":
          return readPayment(part, around?.name === "OrgnlPmtInfAndSts" ? around : undefined);
        default: {
          const heard = heardIn(part, "PmtInfSts");
          if (heard.status === null || is_transmission) return [];
          return [statusOf("batch", heard, readId(part, "OrgnlPmtInfId"))];
        }
      }
    },
  };
}

function readBatch(element: XmlElement): Batch {
  const heard = heardIn(element, "PmtInfSts");
  return { element, heard, batch_id: readId(element, "OrgnlPmtInfId") };
}

function heardIn(element: XmlElement, name: string): Heard {
  return {
    status: element.read(name)?.toUpperCase() ?? null,
    reasons: readReasons(element.all("StsRsnInf")),
  };
}

function outcome(name: PaymentStatus["outcome"], is_final: boolean, codes: string) {
  return Object.fromEntries(codes.split(" ").map((code) => [code, { outcome: name, is_final }]));
}
