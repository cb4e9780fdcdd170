import type { Chain, Token } from "../catalogue/chains.ts";
import type { Ivms101, MissingPart } from "./ivms101.ts";

export const TRANSFER_KINDS = ["onramp", "refund"] as const;
export type TransferKind = (typeof TRANSFER_KINDS)[number];

export const TRAVEL_STATUSES = ["complete", "incomplete"] as const;
export type TravelStatus = (typeof TRAVEL_STATUSES)[number];

export const TRANSFER_STATUSES = ["sending", "sent", "failed"] as const;
export type TransferStatus = (typeof TRANSFER_STATUSES)[number];

/** Tokens that are about to leave: which record sends them, for whom and where to. */
export type Transfer = {
  account_id: string;
  user_id: string;
  kind: TransferKind;
  record_id: string;
  token: Token;
  chain: Chain;
  amount: bigint;
  address: string;
  /** The prices at which its value in usd is calculated; null: the last ones. */
  price_version_id: string | null;
};

/** Who sends to whom: written when the tokens are let go, and never changed. */
export type TravelRecord = Omit<Transfer, "address" | "price_version_id"> & {
  id: string;
  /** In cents. */
  amount_usd: bigint;
  status: TravelStatus;
  missing: readonly MissingPart[];
  /** Null once the user is erased. */
  ivms101: Ivms101 | null;
  created_at: Date;
  /** What became of the transfer. */
  transfer_status: TransferStatus;
  tx_id: string | null;
};
