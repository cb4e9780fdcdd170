import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  depositFinal,
  refundFailed,
  refundSent,
  refundStarted,
} from "../../src/ledger/balance-postings.ts";
import { gasPaid, ownTransfer } from "../../src/ledger/chain-postings.ts";
import { treasuryConverted } from "../../src/ledger/conversion-postings.ts";
import * as exceptions from "../../src/ledger/exception-postings.ts";
import { suspenseReceived } from "../../src/ledger/exception-postings.ts";
import { findImbalance, LEDGER_ACCOUNTS, type NewEntry, ruleOf } from "../../src/ledger/model.ts";
import {
  offrampFailedAfterInstruction,
  offrampFailedAfterReturn,
  offrampFailedBeforeInstruction,
  offrampFunded,
  payoutBooked,
  payoutFunded,
  payoutInstructed,
  payoutRerouted,
  payoutReturned,
  quoteFunded,
} from "../../src/ledger/offramp-postings.ts";
import {
  fiatDepositMatched,
  fiatDepositReceived,
  fiatDepositReleased,
  fiatDepositWithdrawn,
  fiatReturnBooked,
  fiatReturnRefused,
  fiatReturnStarted,
  onrampConverted,
  onrampDelivered,
  onrampFunded,
  onrampGivenBack,
  onrampRefused,
} from "../../src/ledger/onramp-postings.ts";
import { POSTINGS, type PostingKind } from "../../src/ledger/posting-kinds.ts";
import * as treasury from "../../src/ledger/treasury-postings.ts";

const account_id = "account";
const minor = fc.bigInt({ min: 1n, max: 10n ** 15n });
const offramp = fc.record({
  account_id: fc.constant(account_id),
  id: fc.constant("offramp"),
  user_id: fc.constant("user"),
  deposit_token: fc.constantFrom("usdc", "usdt"),
  deposit_token_chain: fc.constant("chain"),
  token_amount: minor,
  destination_currency: fc.constantFrom("eur", "usd", "jpy"),
  destination_amount: minor,
  fee: fc.oneof(fc.constant(0n), minor),
});

/** Every kind of posting, with arbitrary amounts. */
const every = fc
  .record({ offramp, amount: minor, missing: minor, attempt: fc.integer({ min: 1, max: 9 }) })
  .map(({ offramp, amount, missing, attempt }): Record<PostingKind, NewEntry> => {
    const deposit = { account_id, user_id: "user", chain: "chain", tx_id: "0x1", log_index: 3 };
    const quote = { ...offramp, id: "quote", token_amount: amount + missing };
    const refund = { ...{ account_id, id: "refund", user_id: "user" }, token: "usdc", amount };
    const sent_back = { ...refund, chain: "chain", network_fee: amount / 2n };
    const bank_account = "account";
    const receipt = {
      account_id,
      bank_account,
      bank_reference: "reference",
      currency: "eur",
      amount,
    };
    const line = { bank_account, ledger_account: "bank:account", currency: "eur", amount };
    const credit = { account_id, id: "deposit", ...line, returns: attempt };
    const exception = {
      account_id,
      id: "x",
      bank_account,
      currency: "eur",
      held: amount,
      returns: attempt,
    };
    const onramp = {
      account_id,
      id: "onramp",
      crypto_currency: "usdc",
      crypto_rails: "chain",
      destination_amount: missing,
      fiat_currency: "eur",
      deposit_amount: amount + missing,
      fee: missing - 1n,
      deposit_account: "bank:account",
    };
    return {
      deposit_final: depositFinal({ ...deposit, token: "usdc", amount }),
      quote_funded: quoteFunded(quote, amount),
      offramp_funded: offrampFunded(offramp),
      payout_instructed: payoutInstructed(offramp),
      payout_funded: payoutFunded(offramp),
      payout_booked: payoutBooked(offramp, attempt, "account"),
      payout_returned: payoutReturned(offramp, attempt, amount, "account"),
      payout_rerouted: payoutRerouted(offramp, attempt, missing),
      offramp_failed_before_instruction: offrampFailedBeforeInstruction(offramp, 1n),
      offramp_failed_after_instruction: offrampFailedAfterInstruction(offramp, 1n),
      offramp_failed_after_return: offrampFailedAfterReturn(
        offramp,
        { pending: amount + missing, returned: amount, worth: amount },
        1n,
      ),
      refund_started: refundStarted(sent_back),
      refund_sent: refundSent(sent_back),
      refund_failed: refundFailed(sent_back),
      suspense_received: suspenseReceived(receipt),
      exception_assigned: exceptions.exceptionAssigned(exception, "offramp", amount, "suspense"),
      exception_given_back: exceptions.exceptionGivenBack(exception, offramp, amount, 1n),
      exception_written_off: exceptions.exceptionWrittenOff(exception),
      exception_lost: exceptions.exceptionLost(exception, amount),
      exception_return_started: exceptions.exceptionReturnStarted(exception),
      exception_return_booked: exceptions.exceptionReturnBooked(exception),
      exception_return_refused: exceptions.exceptionReturnRefused(exception),
      fiat_deposit_received: fiatDepositReceived(credit),
      fiat_deposit_withdrawn: fiatDepositWithdrawn(credit),
      fiat_deposit_matched: fiatDepositMatched(credit),
      fiat_deposit_released: fiatDepositReleased(credit),
      fiat_return_started: fiatReturnStarted(credit),
      fiat_return_booked: fiatReturnBooked(credit),
      fiat_return_refused: fiatReturnRefused(credit),
      onramp_funded: onrampFunded(onramp, amount),
      onramp_converted: onrampConverted(onramp),
      onramp_delivered: onrampDelivered(onramp),
      onramp_refused: onrampRefused(onramp),
      onramp_given_back: onrampGivenBack(onramp, amount),
      gas_paid: gasPaid({ account_id, chain: "chain", tx_id: "tx", coin: "eth", amount }),
      own_transfer: ownTransfer({
        ...{ account_id, chain: "chain", currency: "usdc", amount, block: 1 },
      }),
      bank_opened: treasury.bankOpened({
        ...{ account_id, bank_account, currency: "eur", amount, number: 1 },
      }),
      bank_transfer: treasury.bankTransfer({
        ...{ account_id, bank_account, currency: "eur", amount, line: "line" },
      }),
      bank_fee: treasury.bankFee({
        ...{ account_id, bank_account, currency: "eur", amount, line: "line" },
      }),
      fiat_deposit_kept: treasury.fiatDepositKept({
        ...{ account_id, id: "deposit", currency: "eur", amount },
      }),
      treasury_converted: treasuryConverted({
        ...{ account_id, reference: "trade-1" },
        bought: { currency: "eur", amount },
        sold: { currency: "usdc", amount: missing },
      }),
    };
  });

describe("every posting", () => {
  test("sums to zero in every currency, whatever the amounts", () => {
    fc.assert(
      fc.property(every, (entries) => {
        for (const entry of Object.values(entries)) {
          expect(findImbalance(entry.lines)).toBeUndefined();
        }
      }),
    );
  });

  test("matches the table: its kind, its key and its lines, in the same order", () => {
    fc.assert(
      fc.property(every, (entries) => {
        for (const [kind, entry] of Object.entries(entries)) {
          const row = POSTINGS[kind as PostingKind];
          expect(entry.kind).toBe(kind);
          expect(entry.key).toMatch(patternOf(row.key));
          const table = row.lines.map(({ side, account }) => `${side} ${account}`);
          expect(table.filter((line) => wordsOf(entry).includes(line))).toEqual(wordsOf(entry));
        }
      }),
    );
  });

  test("has all lines of the table if there is a fee", () => {
    const [first] = fc.sample(
      every.filter(({ payout_instructed }) => payout_instructed.lines.length === 5),
      1,
    );
    for (const kind of [
      "payout_instructed",
      "payout_funded",
      "offramp_failed_after_instruction",
    ] as const) {
      const table = POSTINGS[kind].lines;
      expect(wordsOf(first![kind])).toEqual(table.map(({ side, account }) => `${side} ${account}`));
    }
  });
});

describe("a returned payout", () => {
  const paid = { ...fc.sample(offramp, 1)[0]!, destination_amount: 100n };
  const linesFor = (returned: bigint) =>
    payoutReturned(paid, 1, returned, "main").lines.map((line) => [
      line.ledger_account,
      line.amount,
    ]);

  test("costs nothing if all of it was returned", () => {
    expect(linesFor(100n)).toEqual([
      ["bank:main", 100n],
      ["payout_pending:offramp", -100n],
    ]);
  });

  test("credits what came back, and no more", () => {
    expect(linesFor(85n)).toEqual([
      ["bank:main", 85n],
      ["payout_pending:offramp", -85n],
    ]);
  });

  test("of more than was paid leaves the rest in suspense", () => {
    expect(linesFor(103n)).toEqual([
      ["bank:main", 103n],
      ["suspense", -3n],
      ["payout_pending:offramp", -100n],
    ]);
  });
});

describe("the chart of accounts", () => {
  test("finds an account by its name, with an id if there is one for each record", () => {
    expect(ruleOf("owed:4711:base").side).toBe("credit");
    expect(ruleOf("wallet:base").side).toBe("debit");
    expect(ruleOf("bank:main").side).toBe("debit");
    expect(ruleOf("bank").side).toBe("debit");
    for (const name of [
      "owed",
      "owed:4711",
      "wallet",
      "fees:1",
      "walet",
      "bank:a:b",
      "bank:",
      "constructor",
      "",
    ]) {
      expect(() => ruleOf(name)).toThrow("there is no ledger account");
    }
  });

  test("the reference page names every account and every posting", () => {
    const text = readFileSync(new URL("../../docs/reference/postings.md", import.meta.url), "utf8");
    for (const { name } of LEDGER_ACCOUNTS) expect(text).toContain(`\`${name}`);
    for (const kind of Object.keys(POSTINGS)) expect(text).toContain(`### ${kind}\n`);
  });
});

function wordsOf(entry: NewEntry): string[] {
  return entry.lines.map(({ ledger_account, amount }) => {
    const account = ledger_account.replaceAll(/:(\w+)/g, ":<$1>");
    return `${amount > 0n ? "debit" : "credit"} ${account}`;
  });
}

function patternOf(key: string): RegExp {
  return new RegExp(`^${key.replaceAll(/<\w+>/g, "[^:]+")}$`);
}
