/*
 * What a node answers, read into our own types. A value of another form throws the end of a
 * sentence: a node's answer decides about money, so nothing is guessed.
 */

export type Block = {
  number: number;
  hash: string;
  mined_at: Date;
  /** Wei per unit of gas; 0 where the chain has none. */
  base_fee: bigint;
};

export type Log = {
  contract: string;
  topics: readonly string[];
  data: string;
  block_number: number;
  block_hash: string;
  tx_id: string;
  log_index: number;
};

export type Receipt = {
  succeeded: boolean;
  block_number: number;
  block_hash: string;
  logs: readonly Log[];
  /** Wei, with what a rollup charges for its own chain. */
  gas_cost: bigint;
};

/** Who sent a transaction, mined or not. */
type Sent = { from: string; nonce: number };

const QUANTITY = /^0x[0-9a-f]{1,16}$/;
const AMOUNT = /^0x[0-9a-f]{1,64}$/;
const HASH = /^0x[0-9a-f]{64}$/;
const ADDRESS = /^0x[0-9a-f]{40}$/;
const BYTES = /^0x([0-9a-f]{2})*$/;

/** The largest of PostgreSQL's integer. */
const LOG_INDEX_MAX = 2 ** 31 - 1;
const SECONDS_MAX = Date.UTC(9999, 11, 31) / 1000;

export function readNumber(value: unknown, max = Number.MAX_SAFE_INTEGER): number {
  const number = Number(readText(value, QUANTITY, "a number"));
  if (number <= max) return number;
  throw new Error("a number that is too large");
}

/** An amount of the native coin, in wei. */
export function readAmount(value: unknown): bigint {
  return BigInt(readText(value, AMOUNT, "an amount"));
}

export function readHash(value: unknown): string {
  return readText(value, HASH, "a hash");
}

/** What a call returns, whatever it is. */
export function readBytes(value: unknown): string {
  return readText(value, BYTES, "the result of a call");
}

/** What a function of a contract returns, if it is one number. */
export function readWord(value: unknown): bigint {
  return BigInt(readText(value, HASH, "a number of 32 bytes"));
}

export function readBlock(value: unknown): Block {
  const { number, hash, timestamp, baseFeePerGas } = asObject(value);
  return {
    number: readNumber(number),
    hash: readText(hash, HASH, "the hash of a block"),
    mined_at: new Date(readNumber(timestamp, SECONDS_MAX) * 1000),
    base_fee: readAmount(baseFeePerGas ?? "0x0"),
  };
}

export function readLogs(value: unknown): Log[] {
  if (!Array.isArray(value)) throw new Error("no list of logs");
  return value.map(readLog);
}

export function readReceipt(value: unknown): Receipt {
  const { status, blockNumber, blockHash, logs, ...costs } = asObject(value);
  const { gasUsed, effectiveGasPrice, l1Fee } = costs;
  return {
    succeeded: readNumber(status) === 1,
    block_number: readNumber(blockNumber),
    block_hash: readText(blockHash, HASH, "the hash of a block"),
    logs: readLogs(logs),
    gas_cost:
      readAmount(gasUsed) * readAmount(effectiveGasPrice ?? "0x0") + readAmount(l1Fee ?? "0x0"),
  };
}

export function readSent(value: unknown): Sent {
  const { from, nonce } = asObject(value);
  return { from: readText(from, ADDRESS, "the sender of a transaction"), nonce: readNumber(nonce) };
}

function readLog(value: unknown): Log {
  const given = asObject(value);
  if (given.removed === true) throw new Error("a log that was removed");
  const topics = Array.isArray(given.topics) ? given.topics : [];
  return {
    contract: readText(given.address, ADDRESS, "the address of a contract"),
    topics: topics.map((topic) => readText(topic, HASH, "a topic")),
    data: readText(given.data, BYTES, "the data of a log"),
    block_number: readNumber(given.blockNumber),
    block_hash: readText(given.blockHash, HASH, "the hash of a block"),
    tx_id: readText(given.transactionHash, HASH, "the hash of a transaction"),
    log_index: readNumber(given.logIndex, LOG_INDEX_MAX),
  };
}

function asObject(value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw new Error("no object");
}

function readText(value: unknown, form: RegExp, what: string): string {
  const text = typeof value === "string" ? value.toLowerCase() : "";
  if (form.test(text)) return text;
  throw new Error(`something that is not ${what}`);
}
