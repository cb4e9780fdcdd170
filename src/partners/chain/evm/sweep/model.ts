import type { Chain } from "../../../../catalogue/chains.ts";
import { SECOND_MS } from "../../../../platform/durations.ts";
import type { SweepingSettings } from "../model.ts";
import type { EvmSend, Sender } from "../send/model.ts";

/**
 * | State    | Meaning                                                | Left when                 |
 * |----------|--------------------------------------------------------|---------------------------|
 * | open     | its transactions are being sent                        | the last one is final     |
 * | final    | the tokens are in the treasury                         | never                     |
 * | failed   | a transaction failed or was cancelled; the tokens are  | the operator tries again: |
 * |          | where they were                                        | given_up                  |
 * | given_up | another sweep takes the tokens                         | never                     |
 */
type SweepState = "open" | "final" | "failed" | "given_up";

/** Tokens that move from a deposit address to the treasury. */
export type Sweep = {
  number: bigint;
  chain: Chain;
  address: string;
  address_index: number;
  token: string;
  contract: string;
  /** In the token's smallest unit. */
  amount: bigint;
  /** The same in millionths of a token. */
  millionths: bigint;
  /**
   * `top_up`: the treasury sends native coin to the address, which then sends the tokens.
   * `authorization`: the treasury takes the tokens with a signature of the address (EIP-3009).
   */
  method: "top_up" | "authorization";
  state: SweepState;
  state_since: Date;
  created_at: Date;
  /** 32 random bytes; null: it is not swept by authorization. */
  authorization_nonce: string | null;
  top_ups: number;
  problem: string | null;
  retry_at: Date | null;
};

export type Sweeper = {
  sender: Sender;
  settings: SweepingSettings;
  /** The fingerprint of the wallet whose addresses the signer can sign for. */
  wallet: string;
  /** Real time. */
  next_at_ms: number;
};

/** Nothing can be done for a sweep before a time. The message is a sentence for the operator. */
export class SweepWaits extends Error {
  override name = "SweepWaits";
  readonly until: Date;

  constructor(message: string, until: Date) {
    super(message);
    this.until = until;
  }
}

/** Meanwhile others have its place. */
const LOOKED_AGAIN_AFTER_MS = 20 * SECOND_MS;

/** Throws where a queued send was tried, and cannot be sent now. */
export function waitWith(send: EvmSend, now: Date): void {
  if (send.state !== "queued" || send.problem === null) return;
  const at_ms = now.getTime() + LOOKED_AGAIN_AFTER_MS;
  throw new SweepWaits(send.problem, new Date(Math.max(at_ms, send.retry_at?.getTime() ?? 0)));
}
