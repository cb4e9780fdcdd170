import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { suspenseReceived } from "../../src/ledger/exception-postings.ts";
import { owedTo } from "../../src/ledger/model.ts";
import {
  offrampFailedAfterReturn,
  payoutBooked,
  quoteFunded,
} from "../../src/ledger/offramp-postings.ts";
import type { Offramp } from "../../src/offramps/model.ts";
import type { Session } from "../../src/platform/db/database.ts";
import { verifyLedger } from "../../src/verify/verify-ledger.ts";
import { verifyOfframps } from "../../src/verify/verify-offramps.ts";
import { verifyQuotes } from "../../src/verify/verify-quotes.ts";
import {
  type LedgerFixture,
  NOW,
  openLedgerFixture,
  type Quote,
  TOKEN,
} from "../ledger/ledger-fixture.ts";
import { payoutStory } from "../ledger/payout-story.ts";

let fixture: LedgerFixture;
let history: History;

type History = {
  account_id: string;
  user_id: string;
  quote: Quote;
  /** A quote without its deposit. */
  unpaid: { quote: Quote; offramps: Offramp[] };
  sent: Offramp;
  bounced: Offramp;
  failed: Offramp;
  waiting: Offramp;
};

beforeAll(async () => {
  fixture = await openLedgerFixture();
  history = await createHistory();
});
afterAll(() => fixture.drop());

const ITEM = { destination_amount: 100_00n, fee: 40n, token_amount: 111_555_556n };

/** An account with a long history, all of it correct and sealed. */
async function createHistory(): Promise<History> {
  const account_id = await fixture.addAccount();
  const user_id = await fixture.addUser(account_id);
  const payouts = payoutStory(fixture);
  const items = [ITEM, ITEM, ITEM, ITEM];
  const { quote, offramps } = await fixture.addQuote(account_id, user_id, items);
  const [sent, bounced, failed, waiting] = offramps as [Offramp, Offramp, Offramp, Offramp];
  await payouts.deposit(quote, quote.token_amount + 5_000n);
  await payouts.fundQuote(quote, quote.token_amount);
  for (const offramp of offramps) await payouts.fund(offramp);
  for (const offramp of [sent, bounced, failed]) await payouts.send(offramp);
  await payouts.book(sent);
  await payouts.book(bounced);
  await payouts.bounce(bounced, 90_00n);
  await payouts.fail(failed);
  await payouts.refund({ account_id, user_id }, 1_000n);
  const unpaid = await fixture.addQuote(account_id, user_id, [ITEM]);
  await fixture.seal();
  return { account_id, user_id, quote, unpaid, sent, bounced, failed, waiting };
}

const entryOf = (key: string) =>
  `(select id from ledger_entries where account_id = $1 and key = '${key}')`;
/** A statement on the account's rows; $1 is the account. */
const sql = (text: string) => (session: Session) => session.query(text, [history.account_id]);
const funded = () => entryOf(`fund:${history.sent.id}`);

describe("sealed entries", () => {
  test("are correct if unchanged, sealed or not", async () => {
    expect(await fixture.findFault(history.account_id)).toBeNull();
    const other = await createHistory();
    expect(await fixture.findFault(other.account_id)).toBeNull();
  });

  const changes: [string, () => string][] = [
    ["key", () => `update ledger_entries set key = 'fund:x' where id = ${funded()}`],
    ["kind", () => `update ledger_entries set kind = 'refund_sent' where id = ${funded()}`],
    [
      "time",
      () => `update ledger_entries set created_at = created_at + interval '1 day'
        where id = ${funded()}`,
    ],
    ["amounts", () => `update ledger_lines set amount = amount * 2 where entry_id = ${funded()}`],
    [
      "account of a line",
      () => `update ledger_lines set ledger_account = 'wallet:base'
        where entry_id = ${funded()} and number = 1`,
    ],
    ["currency", () => `update ledger_lines set currency = 'usdt' where entry_id = ${funded()}`],
    ["line", () => `delete from ledger_lines where entry_id = ${funded()} and number = 2`],
    [
      "additional line",
      () => `insert into ledger_lines
        select account_id, entry_id, 3, ledger_account, currency, amount from ledger_lines
        where entry_id = ${funded()} and number = 2`,
    ],
    [
      "order of lines",
      () => `update ledger_lines set number = 3 where entry_id = ${funded()} and number = 1`,
    ],
  ];
  test.each(changes)("a changed entry is named: its %s", async (_, change) => {
    const [row] = await fixture.database.query<{ id: string }>(`select ${funded()} as id`, [
      history.account_id,
    ]);
    const fault = await fixture.findFault(history.account_id, sql(change()));
    const name = `ledger entry ${row!.id} of account ${history.account_id}`;
    expect(fault).toBe(`${name}: it was changed after it was sealed`);
  });

  test("a deleted entry is named", async () => {
    const fault = await fixture.findFault(history.account_id, async (session) => {
      await sql(`delete from ledger_lines where entry_id = ${funded()}`)(session);
      await sql(`delete from ledger_entries where id = ${funded()}`)(session);
    });
    expect(fault).toMatch(/^ledger entry [0-9a-f-]{36} of account .*: it is missing$/);
  });

  test("an entry inserted without a seal is found", async () => {
    const fault = await fixture.findFault(
      history.account_id,
      sql(`insert into ledger_entries (account_id, id, key, kind, created_at)
        select account_id, gen_random_uuid(), 'fund:x', kind, created_at from ledger_entries
        where id = ${funded()}`),
    );
    expect(fault).toMatch(/^ledger entry [0-9a-f-]{36} of account .*: no block lists it$/);
  });

  const blocks: [string, string, RegExp][] = [
    ["hash", "update seal_blocks set hash = sha256(hash)", /its hash does not match/],
    ["digests", "update seal_blocks set digests = digests[2:] || digests[1]", /its hash does not/],
    [
      "signature",
      "update seal_blocks set signature = sha256(signature)",
      /signature was not made by/,
    ],
    ["past", "update seal_blocks set previous_hash = sha256('')", /does not continue the previous/],
    ["absence", "delete from seal_blocks", /: no block lists it$/],
  ];
  test.each(blocks)("a changed block is named: its %s", async (_, change, sentence) => {
    const where = " where account_id = $1 and log = 'ledger'";
    expect(await fixture.findFault(history.account_id, sql(change + where))).toMatch(sentence);
  });

  test("a digest changed before it is sealed is found", async () => {
    const account_id = await fixture.addAccount();
    await fixture.post(
      suspenseReceived({
        ...{ account_id, bank_reference: "1", bank_account: "main", currency: "eur", amount: 1n },
      }),
    );
    const fault = await fixture.findFault(account_id, (session) =>
      session.query("update seal_pending set digest = '' where account_id = $1", [account_id]),
    );
    expect(fault).toMatch(/^ledger entry .* it was changed before it was sealed$/);
  });
});

describe("balances", () => {
  const changes: [string, () => string, RegExp][] = [
    [
      "one that was raised",
      () => `update ledger_balances set balance = balance + 1
        where account_id = $1 and ledger_account = '${owedTo(history.user_id, "base")}'`,
      /^the balance of owed:.* in usdc of account .* is stored as \d+, but its lines sum to \d+$/,
    ],
    [
      "one that is gone",
      () => `delete from ledger_balances
        where account_id = $1 and ledger_account = 'payout_pending:${history.bounced.id}'`,
      /^the balance of payout_pending:.* is stored as 0, but its lines sum to 9000$/,
    ],
    [
      "one of nobody",
      () => `insert into ledger_balances values ($1, 'owed:nobody', 'usdc', 5)`,
      /^the balance of owed:nobody .* is stored as 5, but its lines sum to 0$/,
    ],
  ];
  test.each(changes)("a wrong balance is named: %s", async (_, change, sentence) => {
    expect(await fixture.findFault(history.account_id, sql(change()))).toMatch(sentence);
  });
});

/** A valid chain can still contain entries that were wrong from the start. */
describe("the ledger's own rules", () => {
  const insert = (kind: string, key: string, lines: [string, bigint][]) => (session: Session) =>
    session.query(
      `with entry as (insert into ledger_entries (account_id, id, key, kind, created_at)
         values ($1, $2, $3, $4, $5))
       insert into ledger_lines (account_id, entry_id, number, ledger_account, currency, amount)
       select $1, $2, row_number() over (), account, 'eur', amount
       from unnest($6::text[], $7::bigint[]) as t (account, amount)`,
      [
        ...[history.account_id, randomUUID(), key, kind, NOW],
        ...[lines.map(([account]) => account), lines.map(([, amount]) => amount)],
      ],
    );
  const suspense = (...lines: [string, bigint][]) =>
    insert("suspense_received", "suspense:1", lines);
  const numbered = (number: string) => async (session: Session) => {
    await suspense(["bank", 5n], ["suspense", -5n])(session);
    return session.query(
      `update ledger_lines set number = ${number} where entry_id =
         (select id from ledger_entries where account_id = $1 and key = 'suspense:1')`,
      [history.account_id],
    );
  };
  const wrong: [string, () => ReturnType<typeof insert>, RegExp][] = [
    ["a sum", () => suspense(["bank", 5n], ["suspense", -4n]), /its lines in eur sum to 1, not/],
    ["no lines", () => suspense(), /^ledger entry .*: a line is missing, or has a wrong number$/],
    ["a first line", () => numbered("number + 1"), /: a line is missing, or has a wrong number$/],
    ["a line's number", () => numbered("1"), /: a line is missing, or has a wrong number$/],
    ["the highest number", () => numbered("2"), /: a line is missing, or has a wrong number$/],
    ["a sign", () => suspense(["fees", 500n], ["bank", -500n]), /fees .* its balance is -\d+ eur/],
    ["an account", () => suspense(["cash", 5n], ["bank", -5n]), /cash .* does not contain it/],
    [
      "an account's id",
      () => suspense(["fees:1", 5n], ["bank", -5n]),
      /fees:1 .* does not contain it/,
    ],
    ["a kind", () => insert("gift", "gift:1", [["bank", 1n]]), /there is no posting gift/],
    ["a key", () => insert("deposit_final", "fund:1", [["bank", 1n]]), /with a key like fund:1$/],
    [
      "what lies in return_clearing",
      () => suspense(["bank", 5n], ["return_clearing", -5n]),
      /^return_clearing of account .* holds -5 eur, which differs from what is being returned$/,
    ],
  ];
  test.each(wrong)("a violated rule is named: %s", async (_, tamper, sentence) => {
    expect(await fixture.findFault(history.account_id, tamper(), verifyLedger)).toMatch(sentence);
  });
});

describe("quotes, deposits and refunds", () => {
  const on = (table: string, change: string, where = "") =>
    `update ${table} set ${change} where account_id = $1 ${where}`;
  const quote = () => `and id = '${history.quote.id}'`;
  const wrong: [string, () => string, RegExp][] = [
    [
      "a total",
      () => on("quotes", "token_amount = token_amount + 1", quote()),
      /^quote .*: its totals are not the sums of its offramps$/,
    ],
    ["a count", () => on("quotes", "offramp_count = 3", quote()), /^quote .* sums of its offramps/],
    [
      "what was received",
      () => on("quotes", "received = received - 1", quote()),
      /^quote .*: what it received is not the sum of its deposits$/,
    ],
    [
      "a deposit of another size than credited",
      () => `with q as (${on("quotes", "received = received + 1", quote())})
        ${on("deposits", "amount = amount + 1")}`,
      /^ledger entry .* \(deposit:base:.*\): its lines are .*, but its record requires /,
    ],
    [
      "an entry of another transfer",
      () => on("deposits", "tx_id = 'other'"),
      /^ledger entry .* \(deposit:.*\): it belongs to no record$/,
    ],
    [
      "a quote that was never funded",
      () => on("quotes", "funded_at = created_at", `and id = '${history.unpaid.quote.id}'`),
      /^account .* has no ledger entry fund:.* \(quote_funded\)$/,
    ],
    [
      "funding of a quote that has none",
      () => on("quotes", "funded_at = null", quote()),
      /^ledger entry .* \(fund:.*\): it belongs to no record$/,
    ],
    [
      "a refund of another size",
      () => on("refunds", "amount = amount - 1"),
      /^ledger entry .* \(refund:.*\): its lines are/,
    ],
    [
      "a refund that is not sent",
      () => on("refunds", "status = 'pending'"),
      /^ledger entry .* \(refund_sent:.*\): it belongs to no record$/,
    ],
    [
      "what waits in deposit_clearing",
      () => on("offramps", "funded_at = null", `and id = '${history.waiting.id}'`),
      /^deposit_clearing of account .* holds 0 usdc, but offramps require 111555556$/,
    ],
  ];
  test.each(wrong)("a wrong row is named: %s", async (_, change, sentence) => {
    expect(await fixture.findFault(history.account_id, sql(change()), verifyQuotes)).toMatch(
      sentence,
    );
  });
});

describe("offramps", () => {
  const on = (offramp: () => Offramp, table: string, change: string) => () =>
    `update ${table} set ${change} where account_id = $1
       and ${table === "offramps" ? "id" : table === "events" ? "record_id" : "offramp_id"}
         = '${offramp().id}'`;
  const sent = () => history.sent;
  const wrong: [string, () => string, RegExp][] = [
    ["its state", on(sent, "offramps", "status = 'bounced'"), /but its last event says fiat_sent$/],
    ["its count of changes", on(sent, "offramps", "sequence = 9"), /counts 9 changes, but has 4/],
    [
      "its amount",
      on(sent, "offramps", "destination_amount = 1"),
      /it does not match its last event$/,
    ],
    [
      "its payee",
      on(
        sent,
        "offramps",
        `payment_detail_id = (select max(id::text)::uuid from payment_details
          where account_id = $1)`,
      ),
      /it does not match its last event$/,
    ],
    [
      "a missing event",
      () => `delete from events where record_id = '${history.sent.id}' and sequence = 2
        and account_id = $1`,
      /its event 3 is in the place of event 2$/,
    ],
    [
      "an event without a change",
      () => `insert into events select account_id, gen_random_uuid(), name, record_id, 5, to_status,
          to_status, facts, subject_id, body, created_at
        from events where account_id = $1 and record_id = '${history.sent.id}' and sequence = 4`,
      /it counts 4 changes, but has 5 events$/,
    ],
    [
      "an event of no offramp",
      () => `insert into events select account_id, gen_random_uuid(), name, gen_random_uuid(), 1,
          to_status, to_status, facts, subject_id, body, created_at
        from events where account_id = $1 and record_id = '${history.sent.id}' and sequence = 4`,
      /^event .*: there is no offramp /,
    ],
    [
      "a leap between events",
      on(sent, "events", "from_status = 'bounced'"),
      /its event 1 starts at bounced, but the previous one ended at null$/,
    ],
    [
      "an illegal move",
      () => `update events set to_status = case sequence when 3 then 'bounced' else to_status end,
          from_status = case sequence when 4 then 'bounced' else from_status end
        where account_id = $1 and record_id = '${history.sent.id}'`,
      /its event 3 goes from pending_internal_assessment to bounced$/,
    ],
    [
      "an attempt that the bank did not book",
      on(sent, "payouts", "status = 'sent'"),
      /its attempt 1 is sent, but its ledger entries do not match$/,
    ],
    [
      "what came back",
      on(() => history.bounced, "payouts", "returned_amount = 1"),
      /\(return:.*\): its lines are .*bank:main 9000 eur.*, but its record requires .*bank:main 1 eur/,
    ],
    [
      "an attempt that is gone",
      () => `delete from payouts where account_id = $1 and offramp_id = '${history.failed.id}'`,
      /it counts 1 payout attempts, but has 0$/,
    ],
  ];
  test.each(wrong)("a wrong one is named: %s", async (_, change, sentence) => {
    const fault = await fixture.findFault(history.account_id, sql(change()), verifyOfframps);
    expect(fault).toMatch(sentence);
    expect(fault).toContain(`of account ${history.account_id}`);
  });

  type Story = (payouts: ReturnType<typeof payoutStory>, history: History) => Promise<unknown>;
  const stories: [string, Story, RegExp][] = [
    [
      "said to be paid, and not booked",
      async (payouts, { waiting }) => {
        await payouts.send(waiting);
        await fixture.database.query("update payouts set status = 'sent' where offramp_id = $1", [
          waiting.id,
        ]);
        await fixture.change(waiting, { status: "fiat_sent" });
      },
      /it is fiat_sent, but its money is pending in currency$/,
    ],
    [
      "failed, and nothing given back",
      (_, { waiting }) => fixture.change(waiting, { status: "failed" }),
      /it is failed, but its money is pending in token$/,
    ],
    [
      "failed, and given back at another place's expense",
      (_, { bounced }) =>
        fixture.change(
          bounced,
          { status: "failed", given_back: 100_000_000n, refund_rate: "0.9" },
          offrampFailedAfterReturn(bounced, { pending: 90_00n, returned: 90_00n, worth: 1n }, 0n),
        ),
      /\(giveback:.*\): its lines are .*, but its record requires /,
    ],
    [
      "paid twice under one instruction",
      (_, { bounced }) =>
        fixture.change(
          bounced,
          { attempt: 2 },
          payoutBooked({ ...bounced, destination_amount: 90_00n }, 2, "main"),
        ),
      /its ledger entry .* \(book:.*:2\) belongs to no change of it$/,
    ],
    [
      "funded without its quote",
      async (payouts, { unpaid, quote }) => {
        await payouts.deposit(quote, ITEM.token_amount);
        await fixture.post(quoteFunded(unpaid.quote, ITEM.token_amount));
        await payouts.fund(unpaid.offramps[0]!);
      },
      /it is funded, but its quote is not$/,
    ],
    [
      "marked as funded, without money",
      (_, { unpaid }) =>
        fixture.change(unpaid.offramps[0]!, {
          status: "pending_internal_assessment",
          funded_at: NOW,
        }),
      /it is marked as funded, but is not funded$/,
    ],
  ];
  test.each(stories)("a wrong sequence is named: %s", async (_, happen, sentence) => {
    const own = await createHistory();
    await happen(payoutStory(fixture), own);
    expect(await verifyOfframps(fixture.database, own.account_id)).toMatch(sentence);
  });

  test("an offramp that failed while its part of a funded quote waits is an error", async () => {
    const own = await createHistory();
    const payouts = payoutStory(fixture);
    await payouts.deposit(own.quote, ITEM.token_amount);
    await payouts.fundQuote(own.unpaid.quote, ITEM.token_amount);
    await payouts.fail(own.unpaid.offramps[0]!);
    const fault = await verifyQuotes(fixture.database, own.account_id);
    expect(fault).toContain(`quote ${own.unpaid.quote.id} of account ${own.account_id}`);
  });

  test("a funded quote that is being passed to its offramps is not an error", async () => {
    const own = await createHistory();
    const payouts = payoutStory(fixture);
    const items = [ITEM, ITEM];
    const { quote, offramps } = await fixture.addQuote(own.account_id, own.user_id, items);
    await payouts.deposit(quote, quote.token_amount - 3n);
    await payouts.fundQuote(quote, quote.token_amount - 3n);
    expect(await fixture.findFault(own.account_id)).toBeNull();
    await payouts.fund(offramps[0]!);
    expect(await fixture.findFault(own.account_id)).toBeNull();
    await payouts.fund(offramps[1]!);
    expect(await fixture.findFault(own.account_id)).toBeNull();
  });

  test("a returned payout is sent again, returned again and refunded with what came back", async () => {
    const own = await createHistory();
    const payouts = payoutStory(fixture);
    const owed = async () => {
      const [row] = await fixture.database.query<{ balance: bigint }>(
        `select balance from ledger_balances
         where account_id = $1 and ledger_account = $2 and currency = $3`,
        [own.account_id, owedTo(own.user_id, "base"), TOKEN],
      );
      return row!.balance;
    };
    const before = await owed();
    await payouts.send(own.bounced);
    await payouts.book(own.bounced);
    // More than was paid: the difference belongs to nobody yet.
    await payouts.bounce(own.bounced, 110_00n);
    await payouts.fail(own.bounced);
    expect(await fixture.findFault(own.account_id)).toBeNull();
    // 100.00 eur at 0.9; the fee of 0.40 eur stays earned.
    expect(await owed()).toBe(before + 111_111_111n);
  });
});
