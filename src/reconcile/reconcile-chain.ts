import { NATIVE_COINS } from "../catalogue/chains.ts";
import { walletOn } from "../ledger/model.ts";
import type { EvmChain, EvmSettings, Nodes } from "../partners/chain/evm/model.ts";
import { readSameBlock } from "../partners/chain/evm/read-blocks.ts";
import { type Holding, readHoldings } from "../partners/chain/evm/read-holdings.ts";
import { readUncredited, type Uncredited } from "../partners/chain/evm/read-uncredited.ts";
import { toMillionths } from "../partners/chain/evm/transfer-logs.ts";
import { findWatchedChain } from "../partners/chain/evm/watch-store.ts";
import { ChainUnavailable } from "../partners/chain/port.ts";
import type { Clock } from "../platform/clock.ts";
import { type Database, READ_ALL, type Session } from "../platform/db/database.ts";
import { HOUR_MS } from "../platform/durations.ts";
import { realTime } from "../platform/tasks/real-time.ts";
import { roundUp } from "./book-gas.ts";
import { findGasInMotion } from "./gas-store.ts";
import { proveAddresses } from "./own-addresses.ts";
import {
  type Candidate,
  countDeposits,
  findWalletSums,
  insertReconciliations,
  listDepositCandidates,
  listOwnAddresses,
  listSendCandidates,
} from "./reconcile-store.ts";

/** A token or the chain's coin: what the ledger says and what the wallets have. */
type Compared = {
  currency: string;
  ledger: bigint;
  on_chain: bigint;
  /** Recorded on one side only because the other follows within seconds. */
  in_motion: bigint;
  /** What is left: the chain has this much more than is known. Zero: nothing found. */
  unexplained: bigint;
};

export type Reconciled = {
  block: number;
  compared: Compared[];
  /** Transfers that may be the reason of a difference. */
  candidates: Candidate[];
  /** What of it is at addresses of earlier keys: the chains file does not prove them. */
  unproven: Pick<Holding, "currency" | "amount">[];
  /** Tokens of other contracts that lie at our addresses. They are in no ledger: no difference. */
  uncredited: Uncredited[];
};

const CANDIDATES_MAX = 1_000;
const LATE_AFTER_MS = HOUR_MS;

/**
 * Compares `wallet:<chain>` of the ledger with what our addresses have on the chain, both after the
 * last block whose deposits were read. What is in motion is counted. A finding is not: it is money
 * that no account has, and is listed as the likely reason, like what is in motion for an hour.
 */
export async function reconcileChain(
  { database, clock }: { database: Database; clock: Clock },
  nodes: Nodes,
  settings: EvmSettings,
): Promise<Reconciled> {
  const { chain, rpcs } = nodes;
  const books = await database.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    return readBooks(tx, chain, clock);
  }, READ_ALL);
  const { block, hash } = books;
  if ((await readSameBlock(rpcs, block)).hash !== hash) {
    throw new ChainUnavailable(`${chain.name}: block ${block} was replaced`);
  }
  const { proven, unproven } = proveAddresses(books.addresses, settings);
  const held = await readHoldings(nodes, [...proven, ...unproven], block);
  const held_unproven = await readHoldings(nodes, unproven, block);
  const uncredited = await readUncredited(nodes, settings, [...proven, ...unproven], block);
  const compared = held.map((holding) => compare(chain, holding, books));
  const at = realTime(clock);
  await database.transaction(async (tx) => {
    const rows = compared.map(({ currency, unexplained }) => ({ currency, unexplained }));
    const place = { chain: chain.name, block_number: block, at };
    insertReconciliations(
      tx,
      rows.map((row) => ({ ...place, ...row })),
    );
  });
  return {
    block,
    compared,
    candidates: books.candidates,
    unproven: held_unproven.filter(({ amount }) => amount > 0n),
    uncredited,
  };
}

type Books = Awaited<ReturnType<typeof readBooks>>;

async function readBooks(session: Session, chain: EvmChain, clock: Clock) {
  const { name } = chain;
  const row = await findWatchedChain(session, name);
  if (!row) throw new ChainUnavailable(`${name} has never been read`);
  const block = Number(row.scanned_block);
  const ago = (now: Date) => ({ block, late_before: new Date(now.getTime() - LATE_AFTER_MS) });
  const sends = await listSendCandidates(session, name, ago(realTime(clock)));
  // Deposits have business time.
  const at = ago(clock.now());
  return {
    block,
    hash: row.scanned_hash,
    sums: await findWalletSums(session, walletOn(name)),
    candidates: [
      ...(await listDepositCandidates(session, name, at, CANDIDATES_MAX)),
      ...sends.flatMap((send) => toCandidate(chain, send)),
    ],
    gas: await findGasInMotion(session, name, block),
    deposits: await countDeposits(session, name),
    addresses: await listOwnAddresses(session, name),
  };
}

function toCandidate(
  { tokens }: EvmChain,
  { contract, value, ...send }: Awaited<ReturnType<typeof listSendCandidates>>[number],
): Candidate[] {
  const token = tokens.find(({ address }) => address === contract);
  if (!token) return [];
  return [{ ...send, currency: token.name, amount: toMillionths(value, token.decimals) }];
}

function compare(chain: EvmChain, { currency, amount, is_finer }: Holding, books: Books): Compared {
  const ledger = books.sums.get(currency) ?? 0n;
  const is_coin = currency === NATIVE_COINS[chain.name];
  const { booked_after, unbooked_before, booked_count } = books.gas;
  const in_motion = is_coin
    ? roundUp(booked_after) - roundUp(unbooked_before)
    : books.candidates
        .filter((one) => one.currency === currency && !one.is_late)
        .reduce((sum, one) => sum + one.amount, 0n);
  const left = amount - ledger - in_motion;
  // Of each deposit and each payment of gas less than one unit is rounded away, in our favour.
  const rounded_max = is_finer ? BigInt(is_coin ? booked_count + 2 : books.deposits) : 0n;
  const unexplained = left >= 0n && left <= rounded_max ? 0n : left;
  return { currency, ledger, on_chain: amount, in_motion, unexplained };
}
