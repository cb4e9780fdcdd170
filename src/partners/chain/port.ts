import type { Chain, Token } from "../../catalogue/chains.ts";
import type { Session } from "../../platform/db/database.ts";
import { canonicalAddress } from "./check-address.ts";

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

/** The transaction that is said to pay an address. */
type NamedTransfer = { tx_id: string; address: string; token: Token };

type ExpectedTransfer = NamedTransfer & { chain: Chain; amount: bigint };

export const TRANSFER_STATUSES = ["unknown", "pending", "final", "failed"] as const;
export type TransferStatus = (typeof TRANSFER_STATUSES)[number];

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
  | {
      status: "final";
      /** As the block is dated. */
      mined_at: Date;
      /** It was mined no later: blocks are dated when their miner begins them. */
      mined_before: Date;
      transfers: WalletTransfer[];
    };

/** The chain cannot be read now; nothing is known about what was asked. */
export class ChainUnavailable extends Error {
  override name = "ChainUnavailable";
}

/** The coins are on their way, or wait for their turn: ask again. Nothing has failed. */
export class SendPending extends ChainUnavailable {
  override name = "SendPending";
}

type SendRequest = { key: string; chain: Chain; token: Token; amount: bigint; address: string };
type SendOutcome = { tx_id: string } | { refused: string };

/** Tokens that are about to leave. */
export type Payment = Omit<SendRequest, "key">;

/**
 * Asks the record that a send's key names, directly before the send is signed; the payment is null
 * where nothing leaves our addresses. `held`: nothing may leave now, for example because the user
 * was frozen after the request. `not_wanted`: no record wants exactly this payment, so the send was
 * not written by Sliproad.
 */
export type AskOwner = (
  session: Session,
  key: string,
  payment: Payment | null,
) => Promise<OwnerAnswer>;
export type OwnerAnswer = "wanted" | "held" | "not_wanted";

export function isSamePayment(a: Payment, b: Payment): boolean {
  const is_same_token = a.chain === b.chain && a.token === b.token;
  const [to, also_to] = [a, b].map(({ chain, address }) => canonicalAddress(chain, address));
  return is_same_token && a.amount === b.amount && to === also_to;
}

/** How soon a caller asks again for a send that is pending. */
export const SEND_ASKED_AGAIN_AFTER_MS = 5_000;

/** The outcome of a send; null while it is pending. */
export async function sendIfDone(
  chain: Pick<ChainPort, "send">,
  request: SendRequest,
): Promise<SendOutcome | null> {
  try {
    return await chain.send(request);
  } catch (error) {
    if (error instanceof SendPending) return null;
    throw error;
  }
}

/** What we need from blockchains. */
export type ChainPort = {
  chains: readonly Chain[];
  /** Those of them that the sandbox simulates: its routes can create transfers there. */
  simulated: readonly Chain[];
  /** Those of them on which tokens can be sent. */
  sending: readonly Chain[];
  /** A new deposit address on each of these chains; none is ever returned twice. */
  issueAddresses(session: Session, chains: readonly Chain[], now: Date): Promise<string[]>;
  /** A caller reports that this transfer was sent; a hint, never a proof. */
  announce(expected: ExpectedTransfer, now: Date): Promise<void>;
  /** Final transfers to our addresses since the cursor, in the order in which they were read. */
  listTransfers(
    chain: Chain,
    cursor: string | null,
    limit: number,
  ): Promise<{ transfers: Transfer[]; cursor: string | null }>;
  /**
   * The time up to which transfers are final and were read. A node that is behind can leave one
   * out; it is then found by the second reading, and credited late.
   */
  finalUntil(chain: Chain, now: Date): Promise<Date>;
  /** `failed` also if the transaction is final and does not pay this address in this token. */
  findStatus(chain: Chain, named: NamedTransfer): Promise<TransferStatus>;
  /** A transaction with all transfers of the supported tokens, between any addresses. */
  readTransaction(chain: Chain, tx_id: string): Promise<ChainTransaction>;
  /**
   * Why tokens must not be sent to an address, as a sentence: they would be lost, or come back to
   * us. Null where nothing is known against it.
   */
  findObjection(chain: Chain, address: string): Promise<string | null>;
  /** What became of a send; null if there is none under the key, or it is pending. */
  findSend(chain: Chain, key: string): Promise<SendOutcome | null>;
  /**
   * Sends coins, once per key however often it is called. `refused` is final: they were not sent
   * and never will be. Until it is final, SendPending is thrown; an unknown outcome is thrown too.
   * Call again until it returns: what nobody asks for any more may not be sent.
   */
  send(request: SendRequest): Promise<SendOutcome>;
};
