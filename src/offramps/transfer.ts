import { isBlank, lowerAscii } from "../catalogue/text.ts";
import type { Problem } from "../platform/errors.ts";

export type CheckedTransfer = {
  tx_id: string;
  blockchain: string;
  network: string;
  problems: Problem[];
};

// No colon: it parts the keys of the ledger.
const TX_ID = /^[0-9A-Za-z_.+/=-]{1,200}$/;
const OBJECT = "quote.crypto_transfer";

export const TX_ID_MESSAGE =
  "Send the hash of the transaction: at most 200 letters and digits, without spaces.";

export function isTxId(text: string): boolean {
  return TX_ID.test(text);
}

/** Reads the transfer that a caller names, with its id in the form that its chain writes. */
export function checkTransfer(input: unknown, already: readonly Problem[]): CheckedTransfer {
  const given = (typeof input === "object" && input !== null ? input : {}) as Record<
    string,
    unknown
  >;
  const problems: Problem[] = [];
  const read = (name: string): string => {
    const field = `${OBJECT}.${name}`;
    const is_known = already.some((problem) => field.startsWith(problem.field) && problem.field);
    const value = given[name];
    if (is_known || typeof value !== "string") return "";
    if (isBlank(value))
      problems.push({ field, code: "parameter_missing", message: `Send ${name}.` });
    return value.trim();
  };
  const blockchain = lowerAscii(read("blockchain"));
  const network = read("network").slice(0, 100);
  const text = read("tx_id");
  if (text !== "" && !isTxId(text)) {
    problems.push({ field: `${OBJECT}.tx_id`, code: "record_invalid", message: TX_ID_MESSAGE });
  }
  return { tx_id: normaliseTxId(blockchain, text), blockchain, network, problems };
}

/** Hex hashes are the same in any case; solana's signatures are not. */
export function normaliseTxId(blockchain: string, tx_id: string): string {
  return blockchain === "solana" ? tx_id : lowerAscii(tx_id);
}
