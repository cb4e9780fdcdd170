import { isChain } from "../catalogue/chains.ts";
import { isBlank, lowerAscii } from "../catalogue/text.ts";
import { checkTxId } from "../partners/chain/tx-id.ts";
import type { Problem } from "../platform/errors.ts";

export type CheckedTransfer = {
  tx_id: string;
  blockchain: string;
  network: string;
  problems: Problem[];
};

const OBJECT = "quote.crypto_transfer";

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
  // A blockchain that is no chain is refused as not the quote's; its ids have no form to check.
  if (text === "" || !isChain(blockchain)) return { tx_id: "", blockchain, network, problems };
  const checked = checkTxId(blockchain, text);
  if ("tx_id" in checked) return { ...checked, blockchain, network, problems };
  const field = `${OBJECT}.tx_id`;
  problems.push({ field, code: "record_invalid", message: checked.reason });
  return { tx_id: "", blockchain, network, problems };
}
