import type { Chain, Token } from "../../catalogue/chains.ts";

/** A transfer to one of our addresses that can no longer be undone. */
export type Transfer = {
  chain: Chain;
  tx_id: string;
  log_index: number;
  address: string;
  /** Who sent it; null where the chain does not say. */
  sender: string | null;
  token: string;
  /** Millionths of a token. */
  amount: bigint;
  mined_at: Date;
};

type ExpectedTransfer = {
  chain: Chain;
  tx_id: string;
  address: string;
  token: Token;
  amount: bigint;
};

export type TransferStatus = "unknown" | "pending" | "final" | "failed";

/** A transfer of a token between any two addresses, in the form in which addresses are kept. */
export type WalletTransfer = {
  log_index: number;
  from: string;
  to: string;
  token: string;
  /** Millionths of a token. */
  amount: bigint;
};

/** A transaction of anybody's; what it moved is known once it is final. */
export type ChainTransaction =
  | { status: Exclude<TransferStatus, "final"> }
  | { status: "final"; mined_at: Date; transfers: WalletTransfer[] };

/** What we ask of blockchains. */
export type ChainPort = {
  chains: readonly Chain[];
  /** The address at which this quote is paid; the same one whenever it is asked for. */
  addressFor(chain: Chain, quote_id: string): string;
  /** Somebody says that this transfer is on its way; a hint, never a proof. */
  announce(expected: ExpectedTransfer, now: Date): Promise<void>;
  /** Final transfers to our addresses since the cursor, oldest first. */
  listTransfers(
    chain: Chain,
    cursor: string | null,
    limit: number,
  ): Promise<{ transfers: Transfer[]; cursor: string | null }>;
  findStatus(chain: Chain, tx_id: string): Promise<TransferStatus>;
  /** A transaction with all transfers of the tokens we know, whoever sent and received them. */
  readTransaction(chain: Chain, tx_id: string): Promise<ChainTransaction>;
  /** What was sent under a key; null when nothing was. */
  findSend(chain: Chain, key: string): Promise<{ tx_id: string } | null>;
  /**
   * Sends coins, once per key however often it is called. `refused` is final: they have not left
   * and never will. Whatever is not known is thrown, and asked again.
   */
  send(request: {
    key: string;
    chain: Chain;
    token: Token;
    amount: bigint;
    address: string;
  }): Promise<{ tx_id: string } | { refused: string }>;
};
