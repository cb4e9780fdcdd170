import type { Chain, Token } from "../../../catalogue/chains.ts";
import type { Rpc } from "./rpc.ts";
import type { Wallet } from "./wallet.ts";

/** A token contract as the operator's file states it. */
export type TokenContract = {
  /** `usdc`, `usdt`, or the operator's name of a token that is recognised but never credited. */
  name: string;
  /** Lower case. Contracts are known by address only: names and symbols can be copied. */
  address: string;
  decimals: number;
};

/** How a chain is sent on, as the operator's file says; amounts in wei. */
export type SendingSettings = {
  max_fee: bigint;
  priority_fee_min: bigint;
  /** Less native coin than this in the treasury is reported. */
  gas_floor: bigint;
  bump_after_seconds: number;
  /** Transactions that are not mined yet. */
  in_flight_max: number;
};

/** When deposits of a chain are swept, as the operator's file says. */
export type SweepingSettings = {
  /** In millionths of a token. */
  minimum: bigint;
  /** None is started while a transaction would pay more, in wei per unit of gas. */
  max_fee: bigint;
};

/** One real chain, as the operator's file configures it. */
export type EvmChain = {
  name: Chain;
  chain_id: number;
  /** What callers name it when they name a transfer, such as `mainnet`. */
  network: string;
  /** Where there are two, both must say the same before anything is credited. */
  rpc_urls: readonly string[];
  /** The block tag that the chain's own finality defines; null: confirmations alone decide. */
  final_tag: "finalized" | "safe" | null;
  /** How many blocks must follow a block before its transfers are credited. */
  confirmations: number;
  /** Where reading starts the first time; null: after the block that is final then. */
  first_block: number | null;
  tokens: readonly (TokenContract & { name: Token })[];
  other_tokens: readonly TokenContract[];
  /** Beyond this age of the last read block the service is not ready. */
  lag_max_minutes: number;
  poll_seconds: number;
  /** How long a node may take to answer. */
  timeout_seconds: number;
  /** Up to this many addresses the node filters by address; above it, we do. */
  filtered_addresses_max: number;
  /** Null: nothing is sent on this chain. */
  sending: SendingSettings | null;
  /** Null: deposits stay at their addresses. */
  sweeping: SweepingSettings | null;
};

export type EvmSettings = {
  /** The account's extended public key, m/44'/60'/0'; addresses are its children 0/index. */
  xpub: string;
  /** Keys whose addresses were issued before; what they receive is still credited. */
  earlier_xpubs: readonly string[];
  /** The address that sends; null: none does. */
  treasury: string | null;
  chains: readonly EvmChain[];
};

/** The nodes of a chain. */
export type Nodes = { chain: EvmChain; rpcs: readonly Rpc[] };

/** What only the process has: whoever can write SQL can neither make a MAC nor derive a key. */
export type Proofs = {
  index_key: Buffer;
  /** The current wallet and the earlier ones, by fingerprint. */
  wallets: ReadonlyMap<string, Wallet>;
};

/** What a process remembers of a chain between two runs. */
export type Watcher = Nodes & {
  proofs: Proofs;
  /** Unproven transfers up to this number were looked for on the chain; from the start at times. */
  unproven: { after: bigint; again_at_ms: number };
  /** How many blocks the nodes answer at once. */
  range_blocks: number;
  /** After a refusal: how many ranges are read before a larger one is tried. */
  ranges_before_growth: number;
  /** Chain id and decimals were compared with the configuration. */
  is_verified: boolean;
  /** Of the process's own clock, which never jumps. */
  next_at_ms: number;
  failures: number;
};
