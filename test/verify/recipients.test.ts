import { afterAll, beforeAll, expect, it } from "vitest";
import { digestBeneficiary, digestRecipient } from "../../src/partners/sandbox-digests.ts";
import { findPaymentDetails, toPaymentDetails } from "../../src/payment-details/store.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { verify } from "../../src/verify/verify.ts";
import { verifyRecipients } from "../../src/verify/verify-recipients.ts";
import { addOwedUser, REGISTERED } from "../approvals/proposal-fixture.ts";
import { eraseUser } from "../harness/erase-user.ts";
import { addApprovedUser, addPaymentDetail, addQuote } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { advance, deposit, good, openStory, settle } from "../offramps/story.ts";
import { ADDRESS, openOnramp, receive } from "../onramps/story.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
});
afterAll(() => server.close());

const SECOND_PAYEE = { account_name: "Rui Invented", iban: "PT50000201231234567890154" };

/** As `sliproad verify` runs it: with the keys. */
async function findFault(): Promise<string | null> {
  const { config, database, clock, keyring, index_key } = server.core;
  const key = signingKey(signingSeed(config));
  await sealAll(database, key, clock.now());
  const time = { now: clock.now(), real_now: realTime(clock) };
  return (await verify(database, key, { ...time, keyring, index_key })).fault;
}

const query = <Row>(text: string, values: readonly unknown[] = []) =>
  server.db.database.query<Row>(text, values);

/** What the sandbox's bank has, by attempt. */
async function paidFor(offramp_id: string) {
  const bank_id = offramp_id.replaceAll("-", "");
  const rows = await query<{ end_to_end_id: string; amount: bigint; beneficiary: Buffer }>(
    "select * from sandbox_bank_payouts where starts_with(end_to_end_id, $1) order by 1",
    [bank_id],
  );
  return rows;
}

/** A payment detail as it is stored. */
async function fieldsOf(user_id: string, id: string) {
  const { database, keyring } = server.core;
  const { account_id } = server;
  const rows = await findPaymentDetails(database, [{ account_id, id }]);
  const keys = await keyring.openSubjects(database, [{ account_id, subject_id: user_id }]);
  return toPaymentDetails(rows, keys)[0]!.fields;
}

/** A payout that bounced and was re-routed to another person's account. */
async function openRerouted() {
  const story = await openStory(server, [
    { amount: 300, metadata: { sandbox_outcome: "bounced,fiat_sent" } },
  ]);
  good(await story.execute());
  await story.waitForStatus("bounced");
  const other_id = await addPaymentDetail(server, story.user_id, "eur", SECOND_PAYEE);
  good(await story.reroute(other_id));
  await story.waitForStatus("fiat_sent");
  await settle(server);
  return { story, other_id };
}

/** A refund of 40 usdc that was sent. */
async function openRefund() {
  const owed = await addOwedUser(server, 100);
  const { id } = good(await owed.refund(40)).refund;
  await settle(server);
  return id as string;
}

/** An onramp whose tokens were delivered. */
async function openDelivered() {
  const onramp = await openOnramp(server);
  await receive(server, { amount: 1004, deposit_message: onramp.code });
  await advance(server, HOUR_MS);
  expect((await onramp.show()).status).toBe("crypto_sent");
  return onramp.id as string;
}

/** Tokens that came to an erased user, and were returned to their sender. */
async function openReturned() {
  const user_id = await addApprovedUser(server);
  const quote_id = await addQuote(server, user_id);
  await eraseUser(server.core, { account_id: server.account_id, user_id });
  await deposit(server, { quote_id, amount: 60, from: REGISTERED });
  const { deposits } = good(await server.call("GET", "/deposits?status=unmatched"));
  good(await server.call("POST", `/deposits/${deposits[0].id}/return`));
  await settle(server);
  return deposits[0].id as string;
}

type Attack = [statement: string, named: string, fault: string];

const sentFor = async (key: string) =>
  (
    await query<{ chain: string; token: string; amount: bigint; recipient: Buffer }>(
      "select chain, token, amount, recipient from sandbox_sends where key = $1",
      [key],
    )
  )[0];

it("payouts, re-routes, refunds and onramps reach the person and the amount that were asked", async () => {
  const { index_key } = server.core;
  const { story, other_id } = await openRerouted();
  const [first, second] = await paidFor(story.offramp_id);
  const payee = await fieldsOf(story.user_id, story.payment_detail_id);
  const other = await fieldsOf(story.user_id, other_id);
  expect(first!.amount).toBe(300_00n);
  expect(second!.amount).toBe(300_00n);
  const digestOf = (id: string, fields: object) =>
    digestBeneficiary(index_key, id, { ...fields }).toString("hex");
  expect(first!.beneficiary.toString("hex")).toBe(digestOf(first!.end_to_end_id, payee));
  expect(second!.beneficiary.toString("hex")).toBe(digestOf(second!.end_to_end_id, other));
  expect(digestOf(first!.end_to_end_id, other)).not.toBe(first!.beneficiary.toString("hex"));

  // Two payees whose payouts are sent together; verify compares them at the end.
  const pair = await openStory(server, [{ amount: 100 }]);
  const payment_detail_id = await addPaymentDetail(server, pair.user_id, "eur", SECOND_PAYEE);
  const item = { payment_detail_id, destination_amount: 110, destination_currency: "eur" };
  const path = `/users/${pair.user_id}/quotes/${pair.quote_id}/offramps`;
  const [added] = good(await server.call("POST", path, { offramps: [item] })).offramps;
  good(await pair.execute());
  for (const id of [pair.offramp_id, added.id]) await pair.waitForStatus("fiat_sent", id);

  const key = `refund:${server.account_id}:${await openRefund()}`;
  expect(await sentFor(key)).toEqual({
    ...{ chain: "polygon", token: "usdc", amount: 40_000_000n },
    recipient: digestRecipient(index_key, key, REGISTERED),
  });

  const onramp = await openOnramp(server);
  await receive(server, { amount: 1004, deposit_message: onramp.code });
  await advance(server, HOUR_MS);
  expect((await onramp.show()).status).toBe("crypto_sent");
  const onramp_key = `onramp:${server.account_id}:${onramp.id}`;
  expect(await sentFor(onramp_key)).toEqual({
    ...{ chain: "polygon", token: "usdc", amount: 1_000_000_000n },
    recipient: digestRecipient(index_key, onramp_key, ADDRESS),
  });
  expect(await findFault()).toBeNull();
});

it("verify names a payment that went to another person or with another amount", async () => {
  const { story, other_id } = await openRerouted();
  const { story: stranger } = await openRerouted();
  const refund_id = await openRefund();
  const onramp_id = await openDelivered();
  const deposit_id = await openReturned();
  const [ours] = await paidFor(story.offramp_id);
  const [theirs] = await paidFor(stranger.offramp_id);
  const offramp = `offramp ${story.offramp_id}`;
  const refund = `refund ${refund_id}`;
  const at_bank = (change: string) =>
    `update sandbox_bank_payouts set ${change} where end_to_end_id = '${ours!.end_to_end_id}'`;
  const on_chain = (change: string, id = refund_id) =>
    `update sandbox_sends set ${change} where key like '%${id}%'`;
  const stray = (key: string) =>
    `insert into sandbox_sends select '${key}:${server.account_id}:${crypto.randomUUID()}', tx_id,
       chain, token, amount, recipient from sandbox_sends limit 1`;
  const hex = theirs!.beneficiary.toString("hex");
  const attacks: Attack[] = [
    [at_bank(`beneficiary = '\\x${hex}'`), offramp, "attempt 1 was paid to somebody else"],
    [at_bank("amount = amount + 1"), offramp, "another amount or currency"],
    [
      `update payouts set payment_detail_id = '${other_id}'
       where offramp_id = '${story.offramp_id}' and attempt = 1`,
      offramp,
      "attempt 1 was paid to somebody else",
    ],
    [on_chain("recipient = sha256('x')"), refund, "another address"],
    [on_chain("amount = amount * 2"), refund, "another amount, token or chain"],
    [on_chain("tx_id = tx_id || 'x'"), refund, "another transaction"],
    [
      `insert into sandbox_bank_payouts select 'nobody', account_id, amount, currency, outcome,
         beneficiary from sandbox_bank_payouts limit 1`,
      "payment nobody",
      "never sent",
    ],
    ...[onramp_id, deposit_id].flatMap((id): Attack[] => [
      [on_chain("recipient = sha256('x')", id), id, "another address"],
      [on_chain("amount = amount * 2", id), id, "another amount, token or chain"],
      [on_chain("chain = 'tron'", id), id, "another amount, token or chain"],
    ]),
    [on_chain("tx_id = tx_id || 'x'", onramp_id), `onramp ${onramp_id}`, "another transaction"],
    [stray("refund"), "transfer refund:", "never sent"],
    [stray("onramp"), "transfer onramp:", "never sent"],
  ];
  for (const [statement, named, expected] of attacks) {
    const undo = new Error("undone");
    const { database, keyring, index_key } = server.core;
    let fault: string | null = null;
    // In one transaction, so that the change can be undone.
    await database
      .transaction(async (tx) => {
        await tx.query(statement);
        fault = await verifyRecipients(tx, { keyring, index_key }, server.account_id);
        throw undo;
      })
      .catch((error) => expect(error).toBe(undo));
    expect(fault, statement).toContain(named);
    expect(fault, statement).toContain(expected);
  }
  expect(await findFault()).toBeNull();
});
