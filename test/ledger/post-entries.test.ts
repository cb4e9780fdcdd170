import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { depositFinal, refundStarted } from "../../src/ledger/balance-postings.ts";
import { type NewEntry, owedTo, payoutPending } from "../../src/ledger/model.ts";
import { quoteFunded } from "../../src/ledger/offramp-postings.ts";
import { isAlreadyPosted, isOverdrawn, postEntries } from "../../src/ledger/post-entries.ts";
import { findBalances, findEntryCount, listBalances } from "../../src/ledger/store.ts";
import { violatedKey } from "../../src/platform/db/outages.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { verifyLedger } from "../../src/verify/verify-ledger.ts";
import {
  findLedgerAccountBalance,
  type LedgerFixture,
  NOW,
  openLedgerFixture,
} from "./ledger-fixture.ts";

let fixture: LedgerFixture;
let account_id: string;
const user_id = randomUUID();

beforeAll(async () => {
  fixture = await openLedgerFixture();
});
beforeEach(async () => {
  account_id = await fixture.addAccount();
});
afterAll(() => fixture.drop());

let transfers = 0;
const deposit = (amount: bigint, user = user_id) => {
  transfers += 1;
  const transfer = { chain: "base", tx_id: `0x${transfers}`, log_index: 0, token: "usdc" };
  return depositFinal({ account_id, user_id: user, ...transfer, amount });
};
const refund = (amount: bigint, user = user_id) =>
  refundStarted({
    ...{ account_id, user_id: user, id: randomUUID() },
    ...{ token: "usdc", chain: "base", amount, network_fee: 0n },
  });
const owed = async (user = user_id) => {
  const key = { account_id, ledger_account: owedTo(user, "base"), currency: "usdc" };
  return (await findBalances(fixture.database, [key])).get(key);
};
const outcomes = async (work: readonly Promise<void>[]) => {
  const settled = await Promise.allSettled(work);
  const refused = settled.filter((outcome) => outcome.status === "rejected");
  return { won: work.length - refused.length, errors: refused.map(({ reason }) => reason) };
};

describe("posting", () => {
  test("stores balances of accounts of one record only", async () => {
    await fixture.post(deposit(100n), deposit(20n));
    await fixture.post(refund(30n));
    expect(await owed()).toBe(90n);
    expect(await listBalances(fixture.database, { account_id, user_id })).toEqual([
      { currency: "usdc", chain: "base", balance: 90n },
    ]);
    const wallet = { account_id, ledger_account: "wallet:base", currency: "usdc" };
    expect(await findLedgerAccountBalance(fixture.database, wallet)).toBe(120n);
    expect((await findBalances(fixture.database, [wallet])).get(wallet)).toBe(0n);
  });

  test("needs no balance for changes that cancel out in one set", async () => {
    await fixture.post(refund(40n), deposit(40n));
    expect(await owed()).toBe(0n);
    expect(await verifyLedger(fixture.database, account_id)).toBeNull();
    // What is owed to a user stays stored, also when it is zero.
    const deleted = "delete from ledger_balances where ledger_account = $1";
    const account = owedTo(user_id, "base");
    expect(
      await fixture.findFault(account_id, (tx) => tx.query(deleted, [account]), verifyLedger),
    ).toMatch(/^the balance of owed:.* in usdc of account .* is missing$/);
  });

  test("posts thousands of entries at once", async () => {
    const users = Array.from({ length: 2_000 }, () => randomUUID());
    await fixture.post(...users.map((user) => deposit(7n, user)));
    const keys = users.map((user) => ({
      account_id,
      ledger_account: owedTo(user, "base"),
      currency: "usdc",
    }));
    const balances = await findBalances(fixture.database, keys);
    expect(keys.every((key) => balances.get(key) === 7n)).toBe(true);
  });

  test("refuses an invalid entry before anything is written", async () => {
    const line = (ledger_account: string, amount: bigint, currency = "usdc") => ({
      ledger_account,
      amount,
      currency,
    });
    const wrong: [NewEntry["lines"], string][] = [
      [[line("wallet:base", 5n), line("fees", -4n)], "does not sum to zero: 1 usdc"],
      [[line("wallet:base", 5n), line("fees", -5n, "eur")], "does not sum to zero: 5 usdc"],
      [[line("walet", 5n), line("fees", -5n)], 'there is no ledger account "walet"'],
      [[line("wallet:base", 0n)], "has an empty line"],
      [[], "has no lines"],
    ];
    for (const [lines, message] of wrong) {
      const entry = { account_id, key: "k", kind: "deposit_final", lines };
      const work = fixture.database.transaction(async (tx) => postEntries(tx, [entry], new Date()));
      await expect(work).rejects.toThrow(message);
    }
    expect(await findEntryCount(fixture.database, account_id)).toBe(0n);
  });

  test("keeps the balances of accounts separate", async () => {
    await fixture.post(deposit(100n));
    const other = await fixture.addAccount();
    const theirs = { ...refund(1n), account_id: other };
    await expect(fixture.post(theirs)).rejects.toSatisfy(isOverdrawn);
  });
});

describe("concurrent postings", () => {
  test("on one balance: of 50 exactly as many succeed as it covers", async () => {
    await fixture.post(deposit(17n * 6n + 5n));
    const work = Array.from({ length: 50 }, () => fixture.post(refund(6n)));
    const { won, errors } = await outcomes(work);
    expect(won).toBe(17);
    expect(errors.every(isOverdrawn)).toBe(true);
    expect(await owed()).toBe(5n);
    expect(await findEntryCount(fixture.database, account_id)).toBe(18n);
  });

  test("cannot spend for a user who was never owed anything", async () => {
    const { won, errors } = await outcomes([fixture.post(refund(1n)), fixture.post(refund(1n))]);
    expect(won).toBe(0);
    expect(errors.every(isOverdrawn)).toBe(true);
  });

  test("with one key succeed once, however many run at the same time", async () => {
    const entry = deposit(100n);
    const work = Array.from({ length: 20 }, () => fixture.post(entry));
    const { won, errors } = await outcomes(work);
    expect(won).toBe(1);
    expect(errors.every(isAlreadyPosted)).toBe(true);
    expect(await owed()).toBe(100n);
  });

  test("fail as a whole set if one key was already posted", async () => {
    const entry = deposit(100n);
    await fixture.post(entry);
    await expect(fixture.post(deposit(1n), entry)).rejects.toSatisfy(isAlreadyPosted);
    expect(await owed()).toBe(100n);
  });

  test("on the same balances in any order never deadlock", async () => {
    const users = Array.from({ length: 12 }, () => randomUUID());
    await fixture.post(...users.map((user) => deposit(1_000n, user)));
    const work = Array.from({ length: 40 }, (_, turn) => {
      const order = turn % 2 === 0 ? users : users.toReversed();
      return fixture.post(
        ...order.map((user, at) => ((turn + at) % 3 === 0 ? refund(1n, user) : deposit(1n, user))),
      );
    });
    expect((await outcomes(work)).errors).toEqual([]);
  });

  test("that create new balances at once add up", async () => {
    const users = Array.from({ length: 10 }, () => randomUUID());
    const work = Array.from({ length: 20 }, (_, turn) => {
      const order = turn % 2 === 0 ? users : users.toReversed();
      return fixture.post(...order.map((user) => deposit(1n, user)));
    });
    expect((await outcomes(work)).errors).toEqual([]);
    expect(await Promise.all(users.map((user) => owed(user)))).toEqual(users.map(() => 20n));
  });
});

describe("the balance of one record", () => {
  const pending = (amount: bigint, offramp_id: string, key = randomUUID()): NewEntry => ({
    ...{ account_id, key: `fund:${key}`, kind: "offramp_funded" },
    lines: [
      { ledger_account: "deposit_clearing", currency: "usdc", amount },
      { ledger_account: payoutPending(offramp_id), currency: "usdc", amount: -amount },
    ],
  });

  test("is created with what its entries leave in it", async () => {
    const id = randomUUID();
    await fixture.post(deposit(9n), pending(5n, id), pending(2n, id));
    const key = { account_id, ledger_account: payoutPending(id), currency: "usdc" };
    expect((await findBalances(fixture.database, [key])).get(key)).toBe(7n);
    await fixture.post(pending(1n, id));
    expect((await findBalances(fixture.database, [key])).get(key)).toBe(8n);
  });

  test("that somebody deleted is not created again", async () => {
    const id = randomUUID();
    await fixture.post(pending(5n, id));
    await fixture.database.query("delete from ledger_balances where ledger_account = $1", [
      payoutPending(id),
    ]);
    await expect(fixture.post(pending(1n, id))).rejects.toThrow(
      "is missing, but its lines sum to -5;",
    );
  });

  test("is not stored while it is zero", async () => {
    const id = randomUUID();
    const stored = () =>
      fixture.database.query(
        "select balance from ledger_balances where account_id = $1 and ledger_account = $2",
        [account_id, payoutPending(id)],
      );
    const quote = { account_id, id: randomUUID(), user_id, deposit_token: "usdc" };
    const reserved = { ...quote, deposit_token_chain: "base", token_amount: 9n };
    await fixture.post(deposit(9n), quoteFunded(reserved, 9n), pending(5n, id));
    expect(await stored()).toEqual([{ balance: 5n }]);
    await fixture.post(pending(-5n, id));
    expect(await stored()).toEqual([]);
    await fixture.post(pending(3n, id), pending(-3n, id));
    expect(await stored()).toEqual([]);
    await expect(fixture.post(pending(-1n, id))).rejects.toSatisfy(isOverdrawn);
    await fixture.post(pending(2n, id));
    expect(await stored()).toEqual([{ balance: 2n }]);
    expect(await verifyLedger(fixture.database, account_id)).toBeNull();
  });

  test("cannot be used again after it was used up", async () => {
    const id = randomUUID();
    await fixture.post(pending(5n, id));
    const [row] = await fixture.database.query<Record<string, unknown>>(
      "select * from ledger_balances where account_id = $1 and ledger_account = $2",
      [account_id, payoutPending(id)],
    );
    await fixture.post(pending(-5n, id));
    // Put back as it was, with its MAC.
    await fixture.database.query(
      `insert into ledger_balances (account_id, ledger_account, currency, balance, last_entry_id, mac)
       values ($1, $2, $3, $4, $5, $6)`,
      [account_id, row!.ledger_account, row!.currency, row!.balance, row!.last_entry_id, row!.mac],
    );
    await expect(fixture.post(pending(-5n, id))).rejects.toThrow("does not contain the entry");
  });

  test("ids of its entries ascend, also after it was used up and with a slower clock", async () => {
    const id = randomUUID();
    const later = new Date(NOW.getTime() + HOUR_MS);
    await fixture.database.transaction(async (tx) => postEntries(tx, [pending(5n, id)], later));
    await fixture.database.transaction(async (tx) => postEntries(tx, [pending(-5n, id)], later));
    await fixture.post(pending(2n, id));
    await fixture.post(pending(-1n, id));
    const lines = await fixture.database.query<{ amount: bigint }>(
      "select amount from ledger_lines where ledger_account = $1 order by entry_id",
      [payoutPending(id)],
    );
    expect(lines.map(({ amount }) => amount)).toEqual([-5n, 5n, -2n, 1n]);
  });

  test("stays the sum of its lines if two postings create it without the record's lock", async () => {
    const id = randomUUID();
    const work = Array.from({ length: 10 }, () => fixture.post(pending(1n, id)));
    const { won, errors } = await outcomes(work);
    expect(won).toBeGreaterThan(0);
    expect(errors.map(violatedKey)).toEqual(errors.map(() => "ledger_balances_pkey"));
    const key = { account_id, ledger_account: payoutPending(id), currency: "usdc" };
    expect((await findBalances(fixture.database, [key])).get(key)).toBe(BigInt(won));
  });
});

describe("PostgreSQL", () => {
  test("refuses the row of an upsert before it looks for a conflict", async () => {
    await fixture.post(deposit(100n));
    const upsert = fixture.database.query(
      `insert into ledger_balances (account_id, ledger_account, currency, balance)
       values ($1, $2, 'usdc', -1) on conflict (account_id, ledger_account, currency)
       do update set balance = ledger_balances.balance + excluded.balance`,
      [account_id, owedTo(user_id, "base")],
    );
    await expect(upsert).rejects.toSatisfy(isOverdrawn);
  });
});
