/** Which key signs: the treasury's, or the key of a deposit address. */
export type SigningKey =
  | { kind: "treasury" }
  /** The signer refuses where its key of this index has another address. */
  | { kind: "deposit"; address_index: number; address: string };

/**
 * What may be signed. The signer builds the bytes itself. Amounts are in the token's smallest unit
 * or in wei; addresses and contracts are in lower case.
 */
export type SignedAction =
  /** By the treasury: a payout or a refund. By a deposit key: to the treasury only. */
  | { kind: "token_transfer"; contract: string; to: string; amount: bigint }
  /** Native coin from the treasury to the deposit address of this index. */
  | { kind: "gas_top_up"; address_index: number; address: string; amount: bigint }
  /** Nothing to itself. It may replace another action of the same nonce; none may replace it. */
  | { kind: "cancel" }
  /**
   * By the treasury: takes tokens of a deposit address by that key's signature (EIP-3009), so the
   * address needs no native coin.
   */
  | {
      kind: "sweep_with_authorization";
      contract: string;
      address_index: number;
      address: string;
      amount: bigint;
      /** What the contract's DOMAIN_SEPARATOR() returns. */
      domain_separator: string;
      /** 32 bytes; the contract accepts each once per address. */
      authorization_nonce: string;
      /** Seconds since 1970. */
      valid_before: number;
    };

export type SignRequest = {
  /** The key of the send. Of payments, the signer signs one nonce for each. */
  reference: string;
  chain_id: number;
  key: SigningKey;
  nonce: number;
  action: SignedAction;
  gas: bigint;
  /** Wei per unit of gas, as in EIP-1559. */
  max_fee: bigint;
  priority_fee: bigint;
};

/** `raw` is what a node accepts; `tx_id` its hash; `from` the address that pays the gas. */
export type SignedTransaction = { raw: string; tx_id: string; from: string };

/**
 * Signs transactions. Per chain, address and nonce it signs one action, whatever it is asked and
 * however often it is restarted: only the fees may differ, and a `cancel` may follow. A payment of
 * one reference is signed with one nonce. The same request has the same bytes every time.
 */
export type Signer = {
  /** The address from which tokens are sent, in lower case. */
  treasury: string;
  /** The fingerprint of the wallet whose deposit addresses it can sign for. */
  wallet: string;
  /** Throws SigningRefused or SignerUnavailable. */
  sign(request: SignRequest): Promise<SignedTransaction>;
  close(): Promise<void>;
};

/**
 * Nothing was signed for this request. It may be later: when the limit of a day allows it, or with
 * other settings of the signer. The message is a sentence for the operator.
 */
export class SigningRefused extends Error {
  override name = "SigningRefused";
  /** The nonce has another action, which may be mined; only a `cancel` can be signed for it. */
  readonly is_nonce_used: boolean;

  constructor(message: string, is_nonce_used = false) {
    super(message);
    this.is_nonce_used = is_nonce_used;
  }
}

/** The signer did not answer: it may have signed. Ask again with the same request. */
export class SignerUnavailable extends Error {
  override name = "SignerUnavailable";
}
