import { depositFinal, refundSent, refundStarted } from "../../src/ledger/balance-postings.ts";
import {
  offrampFunded,
  payoutBooked,
  payoutInstructed,
  payoutRerouted,
  payoutReturned,
  quoteFunded,
} from "../../src/ledger/offramp-postings.ts";
import { giveBackEntry, refundWorth } from "../../src/offramps/give-up.ts";
import type { Offramp } from "../../src/offramps/model.ts";
import { endToEndId, findReturn } from "../../src/offramps/payouts/model.ts";
import { insertBankAnswers, listPayouts } from "../../src/offramps/payouts/store.ts";
import type { BankAnswer } from "../../src/partners/bank/port.ts";
import { newId } from "../../src/platform/ids.ts";
import { minOf } from "../../src/platform/money.ts";
import { type LedgerFixture, NOW, type Quote, TOKEN } from "./ledger-fixture.ts";

export const BANK_ACCOUNT = "main";
let transfers = 0;

/** The steps of quotes and offramps, each with its rows, its event and its postings. */
export function payoutStory(fixture: LedgerFixture) {
  const payout = (offramp: Offramp, status: string, returned: bigint | null = null) =>
    fixture.database.query(
      `update payouts set status = $4, returned_amount = $5,
         bank_account = case when $4 in ('booked', 'returned') then $6 end,
         returned_to = case when $4 = 'returned' then $6 end
       where account_id = $1 and offramp_id = $2 and attempt = $3`,
      [offramp.account_id, offramp.id, offramp.attempt, status, returned, BANK_ACCOUNT],
    );
  const addAttempt = (offramp: Offramp) =>
    fixture.database.query(
      `insert into payouts (account_id, offramp_id, attempt, payment_detail_id, end_to_end_id,
         status, created_at, updated_at)
       values ($1, $2, $3, $4, $5, 'sent', $6, $6)`,
      [
        ...[offramp.account_id, offramp.id, offramp.attempt, offramp.payment_detail_id],
        ...[endToEndId(offramp.id, offramp.attempt), NOW],
      ],
    );
  const send = async (offramp: Offramp) => {
    const attempt = offramp.attempt + 1;
    const came_back = findReturn(offramp, await listPayouts(fixture.database, [offramp]));
    const missing = came_back ? offramp.destination_amount - came_back.pending : 0n;
    const entries =
      attempt === 1
        ? [payoutInstructed(offramp)]
        : missing > 0n
          ? [payoutRerouted(offramp, attempt, missing)]
          : [];
    await fixture.change(offramp, { status: "sending_fiat", attempt }, ...entries);
    await addAttempt(offramp);
  };
  return {
    deposit: (quote: Quote, amount: bigint) => deposit(fixture, quote, amount),
    fundQuote: (quote: Quote, used: bigint) =>
      fixture.write(
        "update quotes set funded_at = $3, shortfall = $4 where account_id = $1 and id = $2",
        [quote.account_id, quote.id, NOW, quote.token_amount - used],
        quoteFunded(quote, used),
      ),
    fund: (offramp: Offramp) =>
      fixture.change(
        offramp,
        { status: "pending_internal_assessment", funded_at: NOW },
        offrampFunded(offramp),
      ),
    hold: (offramp: Offramp) => fixture.change(offramp, { status: "ongoing_checks" }),
    /** The first attempt, or another one after a return. */
    send,
    book: async (offramp: Offramp) => {
      await payout(offramp, "booked");
      const entry = payoutBooked(offramp, offramp.attempt, BANK_ACCOUNT);
      await fixture.change(offramp, { status: "fiat_sent" }, entry);
    },
    reject: async (offramp: Offramp) => {
      await payout(offramp, "rejected");
      await fixture.change(offramp, { status: "bounced" });
    },
    bounce: async (offramp: Offramp, returned: bigint) => {
      await payout(offramp, "returned", returned);
      const entry = payoutReturned(offramp, offramp.attempt, returned, BANK_ACCOUNT);
      await fixture.change(offramp, { status: "bounced" }, entry);
      const held = returned - offramp.destination_amount;
      if (held > 0n) await listExcess(fixture, offramp, returned, held);
    },
    fail: async (offramp: Offramp) => {
      if (!offramp.funded_at) return fixture.change(offramp, { status: "failed" });
      const came_back = findReturn(offramp, await listPayouts(fixture.database, [offramp]));
      const refund_rate = came_back && offramp.rate;
      const worth = came_back
        ? refundWorth(offramp, came_back.returned, offramp.rate)
        : offramp.token_amount;
      const deducted = await takeShortfall(fixture, offramp, worth);
      const entry = giveBackEntry(offramp, came_back && { ...came_back, worth }, deducted);
      const given_back = worth - deducted;
      return fixture.change(offramp, { status: "failed", given_back, refund_rate }, entry);
    },
    refund: (owner: Owner, amount: bigint) => refund(fixture, owner, amount),
  };
}

/** What came back beyond the payout waits for the operator. */
async function listExcess(
  { database }: LedgerFixture,
  offramp: Offramp,
  amount: bigint,
  held: bigint,
): Promise<void> {
  const { account_id, id, attempt, destination_currency: currency } = offramp;
  const end_to_end_id = endToEndId(id, attempt);
  const answer: BankAnswer = {
    ...{ account_id, end_to_end_id, bank_reference: `${end_to_end_id}-returned` },
    ...{ bank_account: BANK_ACCOUNT, paid_from: BANK_ACCOUNT },
    ...{ kind: "returned", amount, currency, trace_number: null, uetr: null, reasons: [] },
  };
  await database.transaction(async (tx) =>
    insertBankAnswers(tx, [{ answer, outcome: "suspense", held }], NOW),
  );
}

type Owner = { account_id: string; user_id: string };

/** What is deducted of a give-back for the quote's shortfall. */
async function takeShortfall(
  fixture: LedgerFixture,
  { account_id, quote_id }: Offramp,
  worth: bigint,
): Promise<bigint> {
  const [quote] = await fixture.database.query<{ shortfall: bigint }>(
    "select shortfall from quotes where account_id = $1 and id = $2",
    [account_id, quote_id],
  );
  const deducted = minOf(quote!.shortfall, worth);
  await fixture.database.query(
    "update quotes set shortfall = shortfall - $3 where account_id = $1 and id = $2",
    [account_id, quote_id, deducted],
  );
  return deducted;
}

function deposit(fixture: LedgerFixture, quote: Quote, amount: bigint): Promise<void> {
  transfers += 1;
  const { account_id, user_id } = quote;
  const transfer = { chain: "base", tx_id: `0x${transfers}`, log_index: 0, token: TOKEN, amount };
  return fixture.write(
    `with arrived as (update quotes set received = received + $8
       where account_id = $1 and id = $4)
     insert into deposits (account_id, id, user_id, quote_id, chain, tx_id, log_index, token,
       amount, mined_at, created_at)
     values ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $9)`,
    [
      ...[account_id, newId(NOW), user_id, quote.id, transfer.chain, transfer.tx_id],
      ...[TOKEN, amount, NOW],
    ],
    depositFinal({ account_id, user_id, ...transfer }),
  );
}

async function refund(fixture: LedgerFixture, owner: Owner, amount: bigint): Promise<void> {
  const { account_id, user_id } = owner;
  const row = {
    account_id,
    user_id,
    id: newId(NOW),
    token: TOKEN,
    chain: "base",
    amount,
    network_fee: 0n,
  };
  await fixture.write(
    `insert into refunds (account_id, id, user_id, token, chain, amount, address, status,
       created_at, updated_at)
     values ($1, $2, $3, $4, 'base', $5, '', 'pending', $6, $6)`,
    [account_id, row.id, user_id, TOKEN, amount, NOW],
    refundStarted(row),
  );
  await fixture.write(
    "update refunds set status = 'sent' where account_id = $1 and id = $2",
    [account_id, row.id],
    refundSent(row),
  );
}
