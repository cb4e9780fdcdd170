import type { KeyObject } from "node:crypto";
import { listAccounts } from "../accounts/store.ts";
import type { FileStore } from "../partners/files/file-store.ts";
import { type Database, READ_ALL, type Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { hasMacs } from "../platform/sealing/row-mac.ts";
import { verifyChain } from "../platform/sealing/verify-chain.ts";
import { UnvouchedRowError } from "../platform/sealing/vouched-rows.ts";
import { workerHealth } from "../platform/tasks/worker-health.ts";
import { inOrder } from "./checks.ts";
import { SEALED_TABLES } from "./sealed-tables.ts";
import { readAnchors, verifyAnchors } from "./verify-anchors.ts";
import { findArchiveCount, verifyArchiveFiles, verifyArchives } from "./verify-archives.ts";
import { verifyAudited, verifyOwners } from "./verify-audited.ts";
import { verifyBalanceMacs } from "./verify-balance-macs.ts";
import { verifyBankAnswers, verifyBankPayments } from "./verify-bank-payments.ts";
import { verifyDeliveries } from "./verify-deliveries.ts";
import { verifyDetails } from "./verify-details.ts";
import { verifyExceptions } from "./verify-exceptions.ts";
import { verifyExports } from "./verify-exports.ts";
import { verifyFactors } from "./verify-factors.ts";
import { verifyInvoices } from "./verify-invoices.ts";
import { verifyKeys } from "./verify-keys.ts";
import { verifyLeaving } from "./verify-leaving.ts";
import { verifyLedger } from "./verify-ledger.ts";
import { verifyOfframps } from "./verify-offramps.ts";
import { verifyOnramps } from "./verify-onramps.ts";
import { verifyAccountsOfRows, verifyParents } from "./verify-parents.ts";
import { verifyPaymentDetails } from "./verify-payment-details.ts";
import { verifyProposals } from "./verify-proposals.ts";
import { verifyQuotes } from "./verify-quotes.ts";
import { verifyRecipients } from "./verify-recipients.ts";
import { verifyVouchedRows } from "./verify-rows.ts";
import { verifyScreening } from "./verify-screening.ts";
import { verifySends } from "./verify-sends.ts";
import { verifySince } from "./verify-since.ts";
import { verifyTreasury } from "./verify-treasury.ts";
import { verifyUsers } from "./verify-users.ts";
import { verifyVotes } from "./verify-votes.ts";

/** Run after the chains: these find rows that were wrong from the start and not changed since. */
const verifyRecords = inOrder(
  ...[verifyLedger, verifyOfframps, verifyExceptions, verifyOnramps, verifyQuotes],
  ...[verifyInvoices, verifyProposals, verifyUsers, verifyScreening, verifyKeys],
  ...[verifyDeliveries, verifyTreasury, verifyBankPayments, verifyLeaving, verifyAudited],
  ...[verifyPaymentDetails, verifyParents],
);

/** Only with the keys of MACs. */
export const verifyMacs = inOrder(verifyVotes, verifyBalanceMacs);

export type VerifyInput = {
  now: Date;
  real_now: Date;
  /** If given, encrypted values are checked too. */
  keyring?: Keyring;
  /**
   * If given, the MACs of banks' answers are checked; with the keyring also what
   * partners of the sandbox paid is compared with what was to be paid.
   */
  index_key?: Buffer;
  /** If given with the keys, exported files are compared with their digests. */
  files?: FileStore;
  /** Lines of the service's log: the heads in it must still be in their chains. */
  anchors?: AsyncIterable<string>;
  /** The same, and only what was sealed after these heads is checked. */
  since?: AsyncIterable<string>;
  /** If given, the files of archives in this directory are read too. */
  archives?: string;
  /** Called for every page read, to report progress. */
  onProgress?: (progress: VerifyProgress) => void;
};

export type VerifyProgress = { accounts_done: number; accounts: number; pages: number };

export type Verification = {
  accounts: number;
  fault: string | null;
  /** False without the keys: nobody can tell then who wrote a row. */
  has_checked_macs: boolean;
  /** Files of archives that were not read. */
  archives_unread: number;
};

/**
 * Recomputes the sealed logs, the ledger, quotes, offramps, payouts, onramps, deposits, invoices,
 * proposals, users and what keys may do from one snapshot of a live system and names the first
 * wrong row.
 */
export function verify(
  database: Database,
  key: KeyObject,
  input: VerifyInput,
): Promise<Verification> {
  return database.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    return verifySnapshot(tx, key, input);
  }, READ_ALL);
}

/** The same in a transaction that the caller has begun. */
export async function verifySnapshot(
  tx: Session,
  key: KeyObject,
  input: VerifyInput,
): Promise<Verification> {
  const accounts = await listAccounts(tx);
  const fault = await findFirstFault(tx, key, input, accounts).catch((error) => {
    // A check read a row as the service does, which refuses one of somebody else.
    if (error instanceof UnvouchedRowError) return error.message;
    throw error;
  });
  const archives_unread = input.archives === undefined ? await findArchiveCount(tx) : 0;
  return { accounts: accounts.length, fault, has_checked_macs: hasMacs(tx), archives_unread };
}

async function findFirstFault(
  tx: Session,
  key: KeyObject,
  input: VerifyInput,
  accounts: readonly { id: string }[],
): Promise<string | null> {
  const { now, real_now, anchors, since, onProgress } = input;
  const { is_running } = await workerHealth(tx, { now, real_now });
  const anchored = since ? await readAnchors(tx, key, since) : null;
  if (anchored && "fault" in anchored) return anchored.fault;
  let pages = 0;
  for (const [accounts_done, account] of accounts.entries()) {
    const session = withCount(tx, () => {
      pages += 1;
      onProgress?.({ accounts_done, accounts: accounts.length, pages });
    });
    const time = { now, is_sealer_running: is_running };
    const fault = anchored
      ? await verifySince(session, key, account.id, anchored.heads, time)
      : ((await findFault(session, key, account.id, now, is_running)) ??
        (await findKeyedFault(session, input, account.id)));
    if (fault) return fault;
    const wrong = await findArchiveFault(session, key, input, account.id);
    if (wrong) return wrong;
  }
  const counted = withCount(tx, () => {
    pages += 1;
    onProgress?.({ accounts_done: accounts.length, accounts: accounts.length, pages });
  });
  return (
    (anchored ? null : await findSharedFault(counted)) ??
    (anchors ? await verifyAnchors(tx, key, anchors) : null)
  );
}

/** What is checked once for all accounts. */
async function findSharedFault(tx: Session): Promise<string | null> {
  return (
    (hasMacs(tx) ? await verifyVouchedRows(tx) : null) ??
    (await verifyOwners(tx)) ??
    (await verifyFactors(tx)) ??
    (await verifySends(tx)) ??
    (await verifyAccountsOfRows(tx))
  );
}

/** What can be checked only with keys: MACs, encrypted values, files. */
async function findKeyedFault(
  session: Session,
  { keyring, index_key, files }: VerifyInput,
  account_id: string,
): Promise<string | null> {
  return (
    (hasMacs(session) ? await verifyMacs(session, account_id) : null) ??
    (index_key ? await verifyBankAnswers(session, index_key, account_id) : null) ??
    (keyring ? await verifyDetails(session, keyring, account_id) : null) ??
    (keyring && index_key
      ? await verifyRecipients(session, { keyring, index_key }, account_id)
      : null) ??
    (keyring && files ? await verifyExports(session, { keyring, files }, account_id) : null)
  );
}

async function findArchiveFault(
  session: Session,
  key: KeyObject,
  { archives: directory, keyring }: VerifyInput,
  account_id: string,
): Promise<string | null> {
  if (directory === undefined) return null;
  return verifyArchiveFiles(session, { directory, key, keyring }, account_id);
}

/** Checks read page by page, one statement each: the number of statements shows the progress. */
function withCount(session: Session, onRead: () => void): Session {
  return {
    ...session,
    query: (text, values) => {
      onRead();
      return session.query(text, values);
    },
  };
}

/** The first error of one account, in a session with one snapshot. */
export async function findFault(
  session: Session,
  key: KeyObject,
  account_id: string,
  now: Date,
  is_sealer_running = true,
): Promise<string | null> {
  // First: the chain of events relies on what is archived.
  const archived = await verifyArchives(session, account_id);
  if (archived) return archived;
  for (const sealed of SEALED_TABLES) {
    const fault = await verifyChain(session, key, sealed, account_id, { now, is_sealer_running });
    if (fault) return fault;
  }
  return verifyRecords(session, account_id);
}
