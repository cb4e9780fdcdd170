import { randomUUID } from "node:crypto";
import { recordEvents } from "../../src/events/record-events.ts";
import { type NewEntry, naturalAmount } from "../../src/ledger/model.ts";
import type { QuoteMoney } from "../../src/ledger/offramp-postings.ts";
import { postEntries } from "../../src/ledger/post-entries.ts";
import { digestFacts, type Offramp, type OfframpStatus } from "../../src/offramps/model.ts";
import { insertOfframps, updateOfframpRows } from "../../src/offramps/store.ts";
import type { Session, Transaction } from "../../src/platform/db/database.ts";
import { newId } from "../../src/platform/ids.ts";
import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import type { Check } from "../../src/verify/checks.ts";
import { findFault } from "../../src/verify/verify.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";

export type Quote = QuoteMoney & { token_fees: bigint };
export type Item = { destination_amount: bigint; fee: bigint; token_amount: bigint };

/** Records and postings without the modules that create them: only the rows they would write. */
export type LedgerFixture = TestDatabase & {
  addAccount(): Promise<string>;
  addUser(account_id: string): Promise<string>;
  addQuote(account_id: string, user_id: string, items: readonly Item[]): Promise<Opened>;
  post(...entries: NewEntry[]): Promise<void>;
  /** Writes a change of an offramp with its event and entries, in one transaction. */
  change(offramp: Offramp, change: Partial<Offramp>, ...entries: NewEntry[]): Promise<void>;
  /** Runs other writes together with entries. */
  write(text: string, values: readonly unknown[], ...entries: NewEntry[]): Promise<void>;
  seal(): Promise<void>;
  /**
   * The first error that verify (or one check of it) reports after a change, which is rolled back.
   */
  findFault(account_id: string, tamper?: Tamper, check?: Check): Promise<Fault>;
};
export type Opened = { quote: Quote; offramps: Offramp[] };
export type Tamper = (session: Session) => Promise<unknown>;
type Fault = string | null;

export const TOKEN = "usdc";
export const CHAIN = "base";
export const CURRENCY = "eur";
const SUBJECT_KEY = Buffer.alloc(32);
const KEY = signingKey(Buffer.alloc(32, 7));
export const NOW = new Date("2026-11-15T12:00:00Z");

export async function openLedgerFixture(): Promise<LedgerFixture> {
  const db = await createTestDatabase({ connections_max: 20 });
  const { database } = db;
  const price_version_id = randomUUID();
  await database.query(
    `insert into price_versions
       (id, content_hash, source, as_of, rates, fees, spreads, stopped, created_at)
     values ($1, '', 'test', $2, '{}', '{}', '{}', '{}', $2)`,
    [price_version_id, NOW],
  );
  const commit = (work: (tx: Transaction) => void) => database.transaction(async (tx) => work(tx));
  return {
    ...db,
    addAccount: () => addAccount(database),
    addUser: (account_id) => addUser(database, account_id),
    addQuote: async (account_id, user_id, items) => {
      const opened = openQuote(account_id, user_id, items);
      const payment_detail_id = await addPaymentDetail(database, account_id, user_id);
      for (const offramp of opened.offramps) offramp.payment_detail_id = payment_detail_id;
      await commit((tx) => insertQuote(tx, opened, price_version_id));
      return opened;
    },
    post: (...entries) => commit((tx) => postEntries(tx, entries, NOW)),
    write: (text, values, ...entries) =>
      commit((tx) => {
        tx.write(text, values);
        postEntries(tx, entries, NOW);
      }),
    change: async (offramp, change, ...entries) => {
      const before = offramp.status;
      Object.assign(offramp, change, { sequence: offramp.sequence + 1 });
      await commit((tx) => {
        updateOfframpRows(tx, [{ offramp, key: SUBJECT_KEY, has_new_details: true }]);
        recordEvent(tx, offramp, before);
        postEntries(tx, entries, NOW);
      });
    },
    seal: async () => void (await sealAll(database, KEY, NOW)),
    findFault: (account_id, tamper = async () => {}, check = checkAll) =>
      findFaultAfter(db, account_id, tamper, check),
  };
}

const checkAll: Check = (session, account_id) => findFault(session, KEY, account_id, NOW);

async function findFaultAfter(
  { database }: TestDatabase,
  account_id: string,
  tamper: Tamper,
  check: Check,
): Promise<Fault> {
  let fault: Fault = null;
  const undo = new Error("undo");
  await database
    .transaction(async (tx) => {
      await tx.query("set transaction isolation level repeatable read");
      await tamper(tx);
      fault = await check(tx, account_id);
      throw undo;
    })
    .catch((error) => {
      if (error !== undo) throw error;
    });
  return fault;
}

async function addAccount(session: Session): Promise<string> {
  const id = newId(NOW);
  await session.query(
    "insert into accounts (id, name, is_operator, created_at) values ($1, $2, false, $3)",
    [id, `account ${id}`, NOW],
  );
  await session.query("insert into account_controls (account_id) values ($1)", [id]);
  await session.query(
    `insert into account_keys (account_id, version, master_key_id, wrapped, created_at)
     values ($1, 1, 'none', '', $2)`,
    [id, NOW],
  );
  return id;
}

async function addUser(session: Session, account_id: string): Promise<string> {
  const id = newId(NOW);
  await session.query(
    `insert into users (account_id, id, beneficiary_type, email_index, identity, kyc_status,
       kyc_usd_status, kyc_usd_swift_status, kyc_eur_status, kyc_eur_swift_status, created_at,
       updated_at)
     values ($1, $2, 'individual', $3, '', 'not_started', 'not_started', 'not_started',
       'not_started', 'not_started', $4, $4)`,
    [account_id, id, Buffer.from(id), NOW],
  );
  // Nothing opens it; a user who is not erased has one.
  await session.query(
    `insert into subject_keys (account_id, subject_id, account_key_version, wrapped, created_at)
     values ($1, $2, 1, '', $3)`,
    [account_id, id, NOW],
  );
  return id;
}

async function addPaymentDetail(session: Session, account_id: string, user_id: string) {
  const id = newId(NOW);
  await session.query(
    `insert into payment_details (account_id, id, user_id, currency, rails, beneficiary_type,
       status, details, created_at, updated_at)
     values ($1, $2, $3, $4, 'local', 'individual', 'approved', '', $5, $5)`,
    [account_id, id, user_id, CURRENCY, NOW],
  );
  return id;
}

function openQuote(account_id: string, user_id: string, items: readonly Item[]): Opened {
  const id = newId(NOW);
  const offramps = items.map((item) => newOfframp(account_id, user_id, id, item));
  const quote = {
    account_id,
    id,
    user_id,
    deposit_token: TOKEN,
    deposit_token_chain: CHAIN,
    token_amount: offramps.reduce((sum, offramp) => sum + offramp.token_amount, 0n),
    token_fees: offramps.reduce((sum, offramp) => sum + offramp.token_fee, 0n),
  };
  return { quote, offramps };
}

function newOfframp(account_id: string, user_id: string, quote_id: string, item: Item): Offramp {
  return {
    account_id,
    id: newId(NOW),
    user_id,
    quote_id,
    invoice_id: null,
    payment_detail_id: "",
    status: "initiated",
    status_message: null,
    destination_currency: CURRENCY,
    rails: "local",
    rate: "0.9",
    token_fee: item.fee,
    document_status: null,
    document_source: null,
    document_id: null,
    document_file: null,
    document_hash: null,
    document_type: null,
    document_version: 0,
    document_after_approval: false,
    document_fetch_failures: 0,
    funded_at: null,
    attempt: 0,
    rate_until: null,
    rate_paused_at: null,
    given_back: null,
    refund_rate: null,
    payout_reference: null,
    sequence: 1,
    created_at: NOW,
    updated_at: NOW,
    deposit_token: TOKEN,
    deposit_token_chain: CHAIN,
    details: { reference: null, metadata: {}, submitted_url: null },
    ...item,
  };
}

function insertQuote(tx: Transaction, { quote, offramps }: Opened, price_version_id: string) {
  tx.write(
    `insert into quotes (account_id, id, user_id, deposit_token, deposit_token_chain,
       deposit_address, price_version_id, expires_at, token_amount, token_fees, offramp_count,
       created_at, updated_at)
     values ($1, $2, $3, $4, 'base', '0x' || $2::uuid, $5, $6, $7, $8, $9, $6, $6)`,
    [
      ...[quote.account_id, quote.id, quote.user_id, quote.deposit_token, price_version_id, NOW],
      ...[quote.token_amount, quote.token_fees, offramps.length],
    ],
  );
  tx.write(
    `insert into deposit_addresses (chain, address, account_id, quote_id)
     values ('base', '0x' || $2::uuid, $1, $2)`,
    [quote.account_id, quote.id],
  );
  insertOfframps(
    tx,
    SUBJECT_KEY,
    offramps.map((offramp) => ({ offramp, key: SUBJECT_KEY })),
    NOW,
  );
  for (const offramp of offramps) recordEvent(tx, offramp, null);
}

function recordEvent(tx: Transaction, offramp: Offramp, from_status: OfframpStatus | null): void {
  const event = {
    account_id: offramp.account_id,
    name: "offramp_update" as const,
    record_id: offramp.id,
    sequence: offramp.sequence,
    from_status,
    to_status: offramp.status,
    facts: digestFacts(offramp),
    subject_id: offramp.user_id,
    key: SUBJECT_KEY,
    body: "{}",
  };
  recordEvents(tx, [event], NOW);
}

/** Any account's balance in its natural sign, summed from its lines. */
export async function findLedgerAccountBalance(
  session: Session,
  key: { account_id: string; ledger_account: string; currency: string },
): Promise<bigint> {
  const [row] = await session.query<{ sum: string }>(
    `select coalesce(sum(amount), 0)::text as sum from ledger_lines
     where account_id = $1 and ledger_account = $2 and currency = $3`,
    [key.account_id, key.ledger_account, key.currency],
  );
  return naturalAmount(key.ledger_account, BigInt(row!.sum));
}
