import type { Chain } from "../../../../catalogue/chains.ts";
import type { Leaving } from "../../../leaving.ts";
import type { EvmChain, SendingSettings } from "../model.ts";
import type { Rpc } from "../rpc.ts";
import type { SignedAction, Signer } from "../signer/port.ts";

/**
 * | State     | Meaning                                          | Left when                      |
 * |---------|------------------------------------------------|--------------------------------|
 * | queued    | wanted; it has no nonce                          | its turn comes: planned        |
 * | planned   | nonce, gas and fees are stored; not yet signed   | signed; the signer refuses:    |
 * |           |                                                  | queued, and the nonce is free  |
 * | signed    | the bytes are stored                             | a node accepts them: broadcast |
 * | broadcast | a node has it; sent again now and then           | a receipt is found: mined      |
 * | mined     | in a block that can still be replaced            | the block is final: final, or  |
 * |           |                                                  | refused; gone: broadcast       |
 * | final     | paid                                             | never                          |
 * | refused   | not paid and never will be                       | never                          |
 *
 * `refused`: the call fails before anything is signed, it failed in a final block, or a final
 * transaction has its nonce (a cancel, or one that is not ours).
 */
type SendState = "queued" | "planned" | "signed" | "broadcast" | "mined" | "final" | "refused";

/** `unreadable`: the row was not written by Sliproad. It is set aside, and the others go on. */
export type StoredAction = SignedAction | { kind: "unreadable" };

/** A transaction to be sent once. */
export type EvmSend = {
  key: string;
  number: bigint;
  chain: Chain;
  sender: string;
  /** Of the deposit address that sends; null: the treasury. */
  address_index: number | null;
  action: StoredAction;
  state: SendState;
  state_since: Date;
  created_at: Date;
  asked_at: Date | null;
  retry_at: Date | null;
  problem: string | null;
  is_cancelled: boolean;
  nonce: number | null;
  /** The final block when it got its nonce: its transactions are in later blocks. */
  planned_block: number | null;
  gas: bigint | null;
  tx_id: string | null;
  block_number: number | null;
  block_hash: string | null;
  gas_cost: bigint | null;
};

/** One transaction of a send; all of a send have its nonce. */
export type Attempt = {
  key: string;
  attempt: number;
  is_cancel: boolean;
  max_fee: bigint;
  priority_fee: bigint;
  planned_at: Date;
  raw: string | null;
  tx_id: string | null;
  tried_at: Date | null;
  accepted_at: Date | null;
  accepted_block: number | null;
  answer: string | null;
};

/** A send with its attempts, oldest first. */
export type OpenSend = EvmSend & { attempts: readonly Attempt[] };

/**
 * | State         | Meaning                                      | Left when                      |
 * |-------------|--------------------------------------------|--------------------------------|
 * | sending       | nothing is wrong                             |                                |
 * | waiting       | too little gas or tokens, fees above the     | the reason is gone             |
 * |               | limit, or the signer refuses                 |                                |
 * | unreachable   | a node or the signer does not answer         | all answer                     |
 * | disagreeing   | nodes contradict each other                  | they agree                     |
 * | misconfigured | the signer has another treasury, or a node   | the configuration is corrected |
 * |               | is of another chain                          |                                |
 * | stopped       | somebody else uses the key, or a transaction | sliproad sends resume          |
 * |               | succeeded without its transfer               |                                |
 */
export type SenderState =
  | "sending"
  | "waiting"
  | "unreachable"
  | "disagreeing"
  | "misconfigured"
  | "stopped";

/** The nonce queue of an address. */
export type SenderRow = {
  chain: Chain;
  address: string;
  /** Null until the nodes were first asked. */
  next_nonce: number | null;
  state: SenderState;
  state_since: Date;
  problem: string | null;
  mined_nonce: number | null;
  balance: bigint | null;
  base_fee: bigint | null;
  checked_at: Date | null;
};

/** What a process remembers of sending on a chain between two runs. */
export type Sender = {
  chain: EvmChain;
  settings: SendingSettings;
  treasury: string;
  rpcs: readonly Rpc[];
  leaving: Leaving;
  openSigner: () => Promise<Signer>;
  is_verified: boolean;
  /** Of the process's own clock, which never jumps. */
  next_at_ms: number;
  failures: number;
};

export function whyUnreadable({ key }: Pick<EvmSend, "key">): string {
  return `${key} is not an action that can be sent: its row was not written by Sliproad`;
}

export const CANCELLED = "The operator cancelled it.";

/** Somebody else uses the key, or the database is older than the chain: an operator decides. */
export class SendingStopped extends Error {
  override name = "SendingStopped";
}
