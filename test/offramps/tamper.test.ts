import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Session } from "../../src/platform/db/database.ts";
import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { findFault, verifyMacs } from "../../src/verify/verify.ts";
import { verifyVouchedRows } from "../../src/verify/verify-rows.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { createPayoutsInEveryState } from "./every-state.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  await createPayoutsInEveryState(server);
  await server.app.worker.stop();
  await sealAll(server.core.database, signingKey(signingSeed(server.core.config)), now());
});
afterAll(() => server.close());

const now = () => server.core.clock.now();

type Column = { table_name: string; column_name: string; data_type: string };

/** Encrypted with its place, so a changed value fails to decrypt when it is read. */
const CIPHERTEXT = [
  ...["offramps.details", "events.body", "payment_details.details", "refunds.address"],
  "refund_addresses.address",
];

/** What the chain last said about the transfer, and when something changed: they move no money. */
const NOTES = ["quotes.tx_status", "quotes.updated_at"];
/** Follows from the encrypted details; and with which lists they were compared. */
const DERIVED = ["payment_details.payee_index", "payment_details.screening_version"];
/** Counts retries between two events, so no event vouches for it; it only ends the retries. */
const RETRIES = ["offramps.document_fetch_failures"];
/** The trace that an event's webhooks belong to has no effect on money. */
const TRACES = ["events.trace_id"];
/** That somebody was told of a payout that the bank does not answer. */
const TOLD = ["payouts.flagged_at"];

/** Of the search: a wrong one hides a payout from the search by its reference, and moves nothing. */
const SEARCHED = ["offramps.reference_index"];

const UNPROVEN = new Set([
  ...[...CIPHERTEXT, ...NOTES, ...DERIVED, ...RETRIES, ...TRACES, ...TOLD, ...SEARCHED],
]);

/** Columns whose values the database itself restricts. */
const OTHER_VALUES: Record<string, string> = {
  "offramps.status": "case status when 'fiat_sent' then 'bounced' else 'fiat_sent' end",
  "offramps.rails": "'wire'",
  "offramps.document_status": "'approved'",
  "offramps.document_source": "'upload'",
  "offramps.payout_reference": `'{"end_to_end_id":"x","trace_number":null,"uetr":null}'`,
  "payouts.status": "case when status in ('booked', 'returned') then 'sent' else 'booked' end",
  // The database allows either only together with the other.
  "events.change_id": "gen_random_uuid(), role = 'buyer'",
  "events.role": "'buyer', change_id = gen_random_uuid()",
  "payment_details.status": "case status when 'failed' then 'approved' else 'failed' end",
  "payment_details.beneficiary_type":
    "case beneficiary_type when 'business' then 'individual' else 'business' end",
  "payment_details.rails": "'wire'",
  "refunds.status": "'failed'",
  "quotes.deposit_token": "'usdt'",
  "quotes.tx_status": "'failed'",
  "quotes.proposal_id": "gen_random_uuid(), approval_status = 'done'",
  "quotes.approval_status": "'done', proposal_id = gen_random_uuid()",
};
const OTHER_BY_TYPE: Record<string, (column: string) => string> = {
  uuid: () => "gen_random_uuid()",
  text: (column) => `coalesce(${column}, '') || 'x'`,
  bigint: (column) => `coalesce(${column}, 0) + 1`,
  integer: (column) => `coalesce(${column}, 0) + 1000`,
  boolean: (column) => `not ${column}`,
  smallint: (column) => `${column} + 100`,
  numeric: (column) => `coalesce(${column}, 0) + 1`,
  bytea: (column) => `coalesce(${column}, '') || '\\x01'`,
  ARRAY: () => "array['x']",
  "timestamp with time zone": (column) =>
    `coalesce(${column}, '2026-11-15T00:00:00Z') + interval '1 second'`,
};

/** Of each table; npm run soak changes more. */
const ROWS = process.env.LONG_TESTS ? 12 : 4;

/** How verify names a row, by its key columns. */
const NAMES: Record<string, string> = {
  offramps: "id",
  quotes: "id",
  payouts: "offramp_id",
  deposits: "id",
  payment_details: "id",
  refund_addresses: "id",
  refunds: "id",
  api_keys: "id",
  events: "id",
  ledger_entries: "id",
  ledger_lines: "entry_id",
  ledger_balances: "ledger_account",
};

/** Tables whose rows carry a MAC: another check may find the change first, and name another row. */
const WITH_MAC = ["deposits", "payment_details", "refund_addresses", "refunds", "api_keys"];
/** Of an account that does not exist: the foreign key, which this test turns off, refuses it. */
const MOVED = WITH_MAC.map((table) => `${table}.account_id`);

/** A balance of zero equals none, and a quote without offramps proves nothing. */
const CHOSEN: Record<string, string> = { ledger_balances: "balance > 0" };

async function listColumns(session: Session): Promise<Column[]> {
  return session.query<Column>(
    `select table_name, column_name, data_type from information_schema.columns
     where table_schema = 'public' and table_name = any($1)
     order by table_name, ordinal_position`,
    [Object.keys(NAMES)],
  );
}

/** Changes one value of one row, runs verify, and reverts the change. */
async function tamper(column: Column, row: string): Promise<string | null> {
  const { table_name, column_name, data_type } = column;
  const undo = new Error("undone");
  let fault: string | null = null;
  const value =
    OTHER_VALUES[`${table_name}.${column_name}`] ?? OTHER_BY_TYPE[data_type]!(column_name);
  const { config, database } = server.core;
  await database
    .transaction(async (tx) => {
      // Foreign keys and checks do not protect against an attacker who writes to the tables.
      await tx.query("set local session_replication_role = replica");
      await tx.query(`update ${table_name} set ${column_name} = ${value} where ctid = $1::tid`, [
        row,
      ]);
      const key = signingKey(signingSeed(config));
      fault =
        (await findFault(tx, key, server.account_id, now())) ??
        (await verifyMacs(tx, server.account_id)) ??
        (await verifyVouchedRows(tx));
      throw undo;
    })
    .catch((error) => {
      if (error !== undo) throw error;
    });
  return fault;
}

describe("a value changed directly in the database", () => {
  it("verify finds no fault before any change", async () => {
    const { config, database } = server.core;
    const key = signingKey(signingSeed(config));
    expect(await findFault(database, key, server.account_id, now())).toBeNull();
  });

  it.each(Object.entries(NAMES))(
    "in %s is found, and its row is named",
    async (table, name) => {
      const { database } = server.core;
      const columns = (await listColumns(database)).filter(
        ({ table_name }) => table_name === table,
      );
      const rows = await database.query<{ place: string; name: string }>(
        `select ctid::text as place, ${name}::text as name from ${table}
       where account_id = $1 and ${CHOSEN[table] ?? "true"} order by ctid limit ${ROWS}`,
        [server.account_id],
      );
      expect(rows.length).toBeGreaterThan(0);
      const missed: string[] = [];
      for (const column of columns) {
        const field = `${table}.${column.column_name}`;
        if (UNPROVEN.has(field) || MOVED.includes(field)) continue;
        for (const row of rows) {
          const fault = await tamper(column, row.place);
          const is_name =
            column.column_name === name ||
            column.column_name === "account_id" ||
            WITH_MAC.includes(table);
          if (!fault || (!is_name && !fault.includes(row.name))) {
            missed.push(`${field} of ${row.name}: ${fault}`);
            break;
          }
        }
      }
      expect(missed).toEqual([]);
    },
    120_000,
  );
});
