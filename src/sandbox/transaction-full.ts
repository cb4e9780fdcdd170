import { TRANSFERS_MAX } from "../partners/chain/sandbox-store.ts";
import type { Problem } from "../platform/errors.ts";

export function transactionFull(object: "crypto_deposit" | "crypto_transfer"): Problem {
  const message = `Send another tx_id: this transaction has ${TRANSFERS_MAX} transfers.`;
  return { field: `${object}.tx_id`, code: "record_invalid", message };
}
