import type { Catalogue } from "../../catalogue/catalogue.ts";
import { isChain } from "../../catalogue/chains.ts";
import { isBlank, lowerAscii } from "../../catalogue/text.ts";
import { checkTxId } from "../../partners/chain/tx-id.ts";
import type { Problem } from "../../platform/errors.ts";
import { Problems } from "../../platform/problems.ts";

type CheckedTransfer = {
  tx_id: string;
  blockchain: string;
  network: string;
  /** Includes the problems found before. */
  problems: readonly Problem[];
};

const OBJECT = "quote.crypto_transfer";

/** Checks the transfer that a caller names and normalizes its id to the format of its chain. */
export function checkTransfer(
  input: unknown,
  { networks }: Pick<Catalogue, "networks">,
  already: readonly Problem[],
): CheckedTransfer {
  const given = (typeof input === "object" && input !== null ? input : {}) as Record<
    string,
    unknown
  >;
  const problems = new Problems(already);
  const transfer = problems.within(OBJECT);
  const read = (name: string): string => {
    const value = given[name];
    if (typeof value !== "string") return "";
    if (isBlank(value)) transfer.missing(name);
    return value.trim();
  };
  const blockchain = lowerAscii(read("blockchain"));
  const network = read("network").slice(0, 100);
  const text = read("tx_id");
  const own = isChain(blockchain) ? networks[blockchain] : undefined;
  if (own !== undefined && network !== "" && lowerAscii(network) !== lowerAscii(own)) {
    transfer.invalid("network", `Deposits on ${blockchain} are received on ${own}; send ${own}.`);
  }
  // An unknown blockchain is refused as not the quote's; its ids have no format to check.
  const read_so_far = { tx_id: "", blockchain, network };
  if (text === "" || !isChain(blockchain)) return { ...read_so_far, problems: problems.list };
  const checked = checkTxId(blockchain, text);
  if ("reason" in checked) transfer.invalid("tx_id", checked.reason);
  const tx_id = "value" in checked ? checked.value : "";
  return { ...read_so_far, tx_id, problems: problems.list };
}
