import type { Chain, Token } from "../../catalogue/chains.ts";

/** A final (irreversible) transfer to one of our addresses. */
export type Transfer = {
  chain: Chain;
  tx_id: string;
  log_index: number;
  address: string;
  /** The sender; null if the chain does not name one. */
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

/** A transfer of a token between any two addresses, in their stored form. */
export type WalletTransfer = {
  log_index: number;
  from: string;
  to: string;
  token: string;
  /** Millionths of a token. */
  amount: bigint;
};

/** A transaction of any sender; its transfers are known once it is final. */
export type ChainTransaction =
  | { status: Exclude<TransferStatus, "final"> }
  | { status: "final"; mined_at: Date; transfers: WalletTransfer[] };

/** What we need from blockchains. */
export type ChainPort = {
  chains: readonly Chain[];
  /** The deposit address of this quote; always the same for the same quote. */
  addressFor(chain: Chain, quote_id: string): string;
  /** A caller reports that this transfer was sent; a hint, never a proof. */
  announce(expected: ExpectedTransfer, now: Date): Promise<void>;
  /** Final transfers to our addresses since the cursor, oldest first. */
  listTransfers(
    chain: Chain,
    cursor: string | null,
    limit: number,
  ): Promise<{ transfers: Transfer[]; cursor: string | null }>;
  /** The time up to which every transfer is final; `listTransfers` then returns all before it. */
  finalUntil(chain: Chain, now: Date): Promise<Date>;
  findStatus(chain: Chain, tx_id: string): Promise<TransferStatus>;
  /** A transaction with all transfers of the supported tokens, between any addresses. */
  readTransaction(chain: Chain, tx_id: string): Promise<ChainTransaction>;
  /** The transaction sent under a key; null if there is none. */
  findSend(chain: Chain, key: string): Promise<{ tx_id: string } | null>;
  /**
   * Sends coins, once per key however often it is called. `refused` is final: they were not sent
   * and never will be. An unknown outcome is thrown; call again.
   */
  send(request: {
    key: string;
    chain: Chain;
    token: Token;
    amount: bigint;
    address: string;
  }): Promise<{ tx_id: string } | { refused: string }>;
};
