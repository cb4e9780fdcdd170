// Reports as a bank writes them.

const OURS = "LT069999900000012345";

type Line = {
  amount: string;
  credit?: boolean;
  id?: string;
  details?: string;
  reference?: string;
  currency?: string;
  day?: string;
};

export function entry({
  amount,
  credit,
  id,
  details = "",
  reference,
  currency = "EUR",
  day = "2026-11-16",
}: Line): string {
  const end_to_end = id ? `<Refs><EndToEndId>${id}</EndToEndId></Refs>` : "";
  return (
    `<Ntry><Amt Ccy="${currency}">${amount}</Amt><CdtDbtInd>${credit ? "CRDT" : "DBIT"}</CdtDbtInd>` +
    `<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>${day}</Dt></BookgDt>` +
    (reference ? `<AcctSvcrRef>${reference}</AcctSvcrRef>` : "") +
    `<BkTxCd/><NtryDtls><TxDtls>${end_to_end}${details}</TxDtls></NtryDtls></Ntry>`
  );
}

export function statement(
  lines: readonly string[],
  { account = OURS, id = "S1", type = "53" } = {},
) {
  const [root, part] =
    type === "53" ? ["BkToCstmrStmt", "Stmt"] : ["BkToCstmrDbtCdtNtfctn", "Ntfctn"];
  return (
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.0${type}.001.08"><${root}><${part}>` +
    `<Id>${id}</Id><Acct><Id>${idOf(account)}</Id></Acct>${lines.join("")}` +
    `</${part}></${root}></Document>`
  );
}

function idOf(account: string): string {
  const is_iban = /^[A-Z]{2}/.test(account);
  return is_iban ? `<IBAN>${account}</IBAN>` : `<Othr><Id>${account}</Id></Othr>`;
}

export function statusReport(message_id: string, content: string): string {
  return (
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>` +
    `<OrgnlGrpInfAndSts><OrgnlMsgId>${message_id}</OrgnlMsgId></OrgnlGrpInfAndSts>` +
    `<OrgnlPmtInfAndSts><OrgnlPmtInfId>${message_id}</OrgnlPmtInfId>${content}` +
    `</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>`
  );
}

export function status(id: string, code: string, reason = "AC04"): string {
  const why = `<StsRsnInf><Rsn><Cd>${reason}</Cd></Rsn></StsRsnInf>`;
  return (
    `<TxInfAndSts><OrgnlEndToEndId>${id}</OrgnlEndToEndId><TxSts>${code}</TxSts>` +
    `${why}</TxInfAndSts>`
  );
}
