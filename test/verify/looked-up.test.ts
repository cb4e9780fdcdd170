import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Session } from "../../src/platform/db/database.ts";
import { verifyFactors } from "../../src/verify/verify-factors.ts";
import { verifyInvoices } from "../../src/verify/verify-invoices.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

/*
 * What verify compares with rows that may be on another node: of another account, or of a look-up
 * table. The rows are planted, and no foreign key or MAC is looked at.
 */

const OTHER = "01900000-0000-7000-8000-00000000000b";
const PERSON = "01900000-0000-7000-8000-000000000001";
const PASSKEY = "01900000-0000-7000-8000-0000000000ff";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

async function faultAfter(
  statements: readonly [text: string, values: readonly unknown[]][],
  check: (session: Session) => Promise<string | null>,
): Promise<string | null> {
  return server.db.database.connection(async (session) => {
    await session.query("begin");
    try {
      await session.query("set local session_replication_role = replica");
      for (const [text, values] of statements) await session.query(text, values);
      return await check(session);
    } finally {
      await session.query("rollback");
    }
  });
}

describe("a second factor that is missing", () => {
  type Said = [account: "own" | "other", action: string, passkey_id?: string];
  const CREATED = "second_factor.create";
  const entry = ([account, action, passkey_id]: Said, at: number) =>
    [
      `insert into audit_entries (account_id, id, at, actor, action, record, reason, detail)
       values ($1, $2, now(), 'command line', $3, $4, '', $5)`,
      [
        ...[account === "own" ? server.account_id : OTHER, `${PERSON.slice(0, -3)}1${10 + at}`],
        ...[action, `person:${PERSON}`, JSON.stringify(passkey_id ? { passkey_id } : {})],
      ],
    ] as [string, unknown[]];

  it.each<[name: string, said: Said[], fault: string | null]>([
    ["was never removed", [["own", CREATED]], "the second factor of person"],
    [
      "was reset",
      [
        ["own", CREATED],
        ["own", "second_factor.reset"],
      ],
      null,
    ],
    [
      "was removed in another account",
      [
        ["own", CREATED],
        ["other", "second_factor.remove"],
      ],
      null,
    ],
    [
      "was removed before",
      [
        ["own", "second_factor.remove"],
        ["own", CREATED],
      ],
      "second factor",
    ],
    [
      "is a passkey, and another was removed",
      [
        ["own", "passkey.create", PASSKEY],
        ["own", "passkey.remove", OTHER],
      ],
      "a passkey of person",
    ],
    [
      "is a passkey that was removed",
      [
        ["own", "passkey.create", PASSKEY],
        ["own", "passkey.remove", PASSKEY],
      ],
      null,
    ],
  ])("is named unless somebody removed it: it %s", async (_, said, fault) => {
    const found = await faultAfter(said.map(entry), verifyFactors);
    if (fault === null) expect(found).toBeNull();
    else expect(found).toContain(fault);
  });
});

describe("a sent offramp whose invoice is not reserved for it", () => {
  const INVOICE = PASSKEY;
  const planted = (marked_at: string | null): [string, unknown[]][] => [
    [
      `insert into offramps (account_id, id, user_id, quote_id, payment_detail_id, invoice_id,
         status, destination_amount, destination_currency, rails, rate, fee, deposit_token,
         deposit_token_chain, token_amount, token_fee, details, created_at, updated_at)
       values ($1, $2, $2, $2, $2, $3, 'fiat_sent', 1, 'eur', 'local', 1, 0, 'usdc', 'polygon', 1,
         0, '', now(), now())`,
      [server.account_id, PERSON, INVOICE],
    ],
    [
      `insert into invoice_views (account_id, id, owner_account_id, role, format, status,
         creation_date, sequence, updated_at)
       values ($1, $2, $3, 'buyer', 'svc_invoice', 'open', now(), 1, now())`,
      [server.account_id, INVOICE, OTHER],
    ],
    [
      `insert into invoice_payment_steps (account_id, offramp_id, step, invoice_id, kind,
         created_at) values ($1, $2, 1, $3, 'sent', '2026-01-02')`,
      [server.account_id, PERSON, INVOICE],
    ],
    [
      `insert into invoice_changes (account_id, invoice_id, sequence, id, name, from_status,
         to_status, facts, at)
       select $1, $2, 1, $3, 'markUnpaid', 'paid', 'open', sha256(''), $4
       where $4::timestamptz is not null`,
      [OTHER, INVOICE, PERSON, marked_at],
    ],
  ];

  it.each([
    ["nobody marked it unpaid", null, true],
    ["the seller marked it unpaid before", "2026-01-01", true],
    ["the seller marked it unpaid afterwards", "2026-01-03", false],
  ])("is named, unless the seller marked it unpaid since: %s", async (_, marked_at, is_named) => {
    const found = await faultAfter(planted(marked_at), (session) =>
      verifyInvoices(session, server.account_id),
    );
    if (is_named) expect(found).toContain(`but invoice ${INVOICE} is not reserved for it`);
    else expect(found).toBeNull();
  });
});
