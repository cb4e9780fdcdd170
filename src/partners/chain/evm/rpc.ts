import { openJsonRpc, RpcFailure, RpcReverted } from "./json-rpc.ts";
import {
  type Log,
  readAmount,
  readBlock,
  readBytes,
  readHash,
  readLogs,
  readNumber,
  readReceipt,
  readSent,
  readWord,
} from "./rpc-values.ts";

type BlockTag = "latest" | "finalized" | "safe";
type LogFilter = {
  from_block: number;
  to_block: number;
  contracts: readonly string[];
  topics: readonly (null | string | readonly string[])[];
};

/** A transaction that is tried, not sent. */
export type Call = { from: string; to: string; data?: string; value?: string };

/** One node. Every answer is checked for its form; whether it is true is decided elsewhere. */
export type Rpc = ReturnType<typeof openRpc>;

/** The first four bytes of keccak256("balanceOf(address)") and of keccak256("decimals()"). */
const BALANCE_OF = "0x70a08231";
/** Of "DOMAIN_SEPARATOR()" and of "authorizationState(address,bytes32)" (EIP-3009). */
const DOMAIN_SEPARATOR = "0x3644e515";
const AUTHORIZATION_STATE = "0xe94a0102";
const DECIMALS = "0x313ce567";

export function openRpc(url: string, timeout_ms: number) {
  const { host } = new URL(url);
  const { ask, takeSlowest } = openJsonRpc(url, timeout_ms);
  const read = async <Value>(
    method: string,
    params: readonly unknown[],
    parse: (value: unknown) => Value,
  ): Promise<Value> => {
    const value = await ask(method, params);
    try {
      return parse(value);
    } catch (error) {
      throw new RpcFailure(`${host} answered ${method} with ${(error as Error).message}`);
    }
  };
  const call = async (contract: string, data: string, at: number | BlockTag): Promise<bigint> => {
    const params = [{ to: contract, data }, blockAt(at)];
    const word = await read("eth_call", params, orEmpty(readWord));
    if (word === null) throw new RpcReverted(`${host}: ${contract} has no such function`);
    return word;
  };

  return {
    host,
    takeSlowest,
    chainId: () => read("eth_chainId", [], (value) => readNumber(value)),
    /** Null where the node does not have that block. */
    block: (at: number | BlockTag) =>
      read("eth_getBlockByNumber", [blockAt(at), false], orNull(readBlock)),
    logs: ({ from_block, to_block, contracts, topics }: LogFilter): Promise<Log[]> => {
      const range = { fromBlock: blockAt(from_block), toBlock: blockAt(to_block) };
      return read("eth_getLogs", [{ ...range, address: contracts, topics }], readLogs);
    },
    /** Null where the transaction is not mined, as far as the node knows. */
    receipt: (tx_id: string) => read("eth_getTransactionReceipt", [tx_id], orNull(readReceipt)),
    existsTransaction: async (tx_id: string) =>
      (await ask("eth_getTransactionByHash", [tx_id])) !== null,
    /** Null where the node does not know the transaction. */
    sent: (tx_id: string) => read("eth_getTransactionByHash", [tx_id], orNull(readSent)),
    balanceOf: (contract: string, address: string, at: number | BlockTag) =>
      call(contract, `${BALANCE_OF}${address.slice(2).padStart(64, "0")}`, at),
    /** How many transactions of an address are mined: the nonce of its next one. */
    transactionCount: (address: string, at: number | "latest" | "pending" = "latest") =>
      read("eth_getTransactionCount", [address, at === "pending" ? at : blockAt(at)], readNumber),
    nativeBalance: (address: string, at: number | BlockTag = "latest") =>
      read("eth_getBalance", [address, blockAt(at)], readAmount),
    /** What a node suggests to pay above the base fee. */
    priorityFee: () => read("eth_maxPriorityFeePerGas", [], readAmount),
    /** The result of a transaction if it were mined now. */
    simulate: (call: Call) => read("eth_call", [call, "latest"], readBytes),
    estimateGas: (call: Call) => read("eth_estimateGas", [call], readAmount),
    sendRaw: (raw: string) => read("eth_sendRawTransaction", [raw], readHash),
    /** What a signature for this contract must contain; 32 bytes. */
    domainSeparator: async (contract: string) =>
      `0x${(await call(contract, DOMAIN_SEPARATOR, "latest")).toString(16).padStart(64, "0")}`,
    isAuthorizationUsed: async (contract: string, address: string, nonce: string) => {
      const arguments_of = `${address.slice(2).padStart(64, "0")}${nonce.slice(2)}`;
      return (await call(contract, `${AUTHORIZATION_STATE}${arguments_of}`, "latest")) !== 0n;
    },
    decimals: async (contract: string) => Number(await call(contract, DECIMALS, "latest")),
  };
}

function blockAt(at: number | BlockTag): string {
  return typeof at === "number" ? `0x${at.toString(16)}` : at;
}

function orNull<Value>(read: (value: unknown) => Value): (value: unknown) => Value | null {
  return (value) => (value === null ? null : read(value));
}

/** A call of an address without code, or of a function that it does not have, answers 0x. */
function orEmpty<Value>(read: (value: unknown) => Value): (value: unknown) => Value | null {
  return (value) => (value === "0x" ? null : read(value));
}
