import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/platform/durations.ts";
import { addPaymentDetail, addQuote } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import {
  addBilledAccount,
  BANK_OPTION,
  change,
  sendInvoice,
  setEmail,
} from "../invoices/invoice-fixture.ts";
import { advance, deposit, findFault, good, openStory, settle } from "../offramps/story.ts";
import {
  addMember,
  addOwedUser,
  proposalIn,
  REGISTERED,
  STRANGE,
  showProposal,
  type TestMember,
  waitForEnd,
} from "./proposal-fixture.ts";

let server: TestServer;
let ada: TestMember;
let ben: TestMember;

beforeAll(async () => {
  const environment = { SLIPROAD_COOLING_OFF_HOURS: "24", SLIPROAD_DOCUMENTS: "never" };
  server = await startTestServer({ environment });
  ada = await addMember(server, "admin");
  ben = await addMember(server, "approver");
});
afterAll(() => server.close());

const STRANGE_TOO = `0x${"8".repeat(40)}`;

const newTxId = () => `0x${crypto.randomUUID().replaceAll("-", "").repeat(2)}`;

async function openBounced() {
  const story = await openStory(server, [{ amount: 200 }]);
  const offramp = { status: "bounced" };
  good(await server.call("PATCH", `/sandbox/offramps/${story.offramp_id}`, { offramp }));
  return story;
}

describe("for 24 hours, any amount needs two members", () => {
  it("that is refunded to a newly registered address", async () => {
    const user = await addOwedUser(server, 100);
    const { why, id } = proposalIn(await user.refund(1));
    expect(why).toBe("The user registered the address recently.");
    await advance(server, DAY_MS - HOUR_MS);
    expect((await user.refund(1)).body.proposal).toBeDefined();
    await advance(server, HOUR_MS);
    expect(good(await user.refund(1)).refund).toMatchObject({ amount: 1, address: REGISTERED });
    expect(await user.owed()).toBe(99);
    await ada.confirm(id);
    await ben.confirm(id);
    expect((await waitForEnd(server, id)).status).toBe("done");
    expect(await user.owed()).toBe(98);
  });

  it("that exceeds what came from a new address, also if it is asked for in one set", async () => {
    const user = await addOwedUser(server, 1000);
    const quote_id = await addQuote(server, user.user_id);
    await deposit(server, { quote_id, amount: 20, from: REGISTERED });
    // While these run, the others are collected into one set.
    const other = await addOwedUser(server, 100);
    const before = Array.from({ length: 20 }, () => other.refund(1));
    const answers = await Promise.all(Array.from({ length: 20 }, () => user.refund(10)));
    await Promise.all(before);
    expect(answers.filter(({ body }) => body.refund)).toHaveLength(2);
    expect(answers.filter(({ body }) => body.proposal)).toHaveLength(18);
    expect(await user.owed()).toBe(1000);
  });

  it("that pays a new payee with a balance, in the place of coins that went back", async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    const [total, tx_id] = [await story.total(), newTxId()];
    await deposit(server, { quote_id: await story.addQuote(), amount: 1000 });
    const amount = total + 5;
    await deposit(server, { quote_id: story.quote_id, amount, tx_id, from: STRANGE });
    const refund = (wanted: number) =>
      server.call("POST", `/users/${story.user_id}/refunds`, {
        refund: { token: "usdc", chain: "polygon", amount: wanted, address: STRANGE },
      });
    // What the quote does not need may go back before; the rest is what pays it.
    good(await refund(5));
    good(await refund(total));
    const { approval } = good(await story.execute(tx_id));
    expect((await showProposal(server, approval.proposal_id)).why).toContain("created recently");
    await ada.reject(approval.proposal_id, "Who is this?");
    await story.waitForStatus("failed");
    expect(await story.owed()).toBe(1000);
    const other = await openStory(server, [{ amount: 200 }]);
    const second = { tx_id: newTxId(), from: STRANGE };
    await deposit(server, { quote_id: other.quote_id, amount, ...second });
    const back = { token: "usdc", chain: "polygon", amount: 5, address: STRANGE };
    good(await server.call("POST", `/users/${other.user_id}/refunds`, { refund: back }));
    expect(good(await other.execute(second.tx_id)).approval).toBeUndefined();
    await other.waitForStatus("fiat_sent");
  });

  it("that goes to an address whose own coins were paid out", async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    const [total, tx_id] = [await story.total(), newTxId()];
    await deposit(server, { quote_id: await story.addQuote(), amount: 1000 });
    await deposit(server, { quote_id: story.quote_id, amount: total + 5, tx_id, from: STRANGE });
    good(await story.execute(tx_id));
    await story.waitForStatus("fiat_sent");
    const refund = (amount: number) =>
      server.call("POST", `/users/${story.user_id}/refunds`, {
        refund: { token: "usdc", chain: "polygon", amount, address: STRANGE },
      });
    proposalIn(await refund(total));
    // What the payout did not need still goes back.
    expect(good(await refund(5)).refund).toMatchObject({ amount: 5, address: STRANGE });
    proposalIn(await refund(1));
    expect(await story.owed()).toBe(1000);
    // A payout that fails gives it back, and so it may go back to its sender.
    const failed = await openStory(server, [
      { amount: 200, metadata: { sandbox_outcome: "failed" } },
    ]);
    const second = newTxId();
    await deposit(server, { quote_id: failed.quote_id, amount: total, tx_id: second });
    good(await failed.execute(second));
    await failed.waitForStatus("failed");
    const path = `/users/${failed.user_id}`;
    const { crypto_deposits } = good(await server.call("GET", `${path}/crypto_deposits`));
    const address = crypto_deposits[0].from;
    const back = { token: "usdc", chain: "polygon", amount: total, address };
    expect(
      good(await server.call("POST", `${path}/refunds`, { refund: back })).refund,
    ).toBeDefined();
  });

  /** Two new addresses send all that a quote needs, each; others have sent 1000 before. */
  async function openForTwo() {
    const story = await openStory(server, [{ amount: 200 }]);
    const [total, tx_id] = [await story.total(), newTxId()];
    await deposit(server, { quote_id: await story.addQuote(), amount: 1000 });
    const first = { quote_id: story.quote_id, amount: total, tx_id };
    await deposit(server, { ...first, from: STRANGE });
    await deposit(server, { ...first, tx_id: newTxId(), from: STRANGE_TOO });
    const refund = (address: string) =>
      server.call("POST", `/users/${story.user_id}/refunds`, {
        refund: { token: "usdc", chain: "polygon", amount: total, address },
      });
    return { ...story, tx_id, refund };
  }

  it("that is left of a quote with two senders and goes back to both", async () => {
    const story = await openForTwo();
    good(await story.execute(story.tx_id));
    await story.waitForStatus("fiat_sent");
    const answers = [await story.refund(STRANGE), await story.refund(STRANGE_TOO)];
    expect(answers.filter(({ body }) => body.refund)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.proposal)).toHaveLength(1);
    expect(await story.owed()).toBe(1000);
  });

  it("that pays a new payee in the place of coins that went back to two senders", async () => {
    const story = await openForTwo();
    // What the quote does not need may go back to either, but not to both.
    good(await story.refund(STRANGE));
    good(await story.refund(STRANGE_TOO));
    expect(await story.owed()).toBe(1000);
    const { approval } = good(await story.execute(story.tx_id));
    expect((await showProposal(server, approval.proposal_id)).why).toContain("created recently");
    await ada.reject(approval.proposal_id, "Who is this?");
    await story.waitForStatus("failed");
    expect(await story.owed()).toBe(1000);
  });

  it("that is re-routed to a new payment detail", async () => {
    const story = await openBounced();
    const { why, id } = proposalIn(await story.reroute());
    expect(why).toBe("The new payment detail was created recently.");
    await advance(server, DAY_MS - HOUR_MS);
    const young_id = await addPaymentDetail(server, story.user_id, "eur");
    await advance(server, HOUR_MS);
    proposalIn(await story.reroute(young_id));
    expect(good(await story.reroute()).offramp.status).toBe("sending_fiat");
    await ada.confirm(id);
    await ben.confirm(id);
    expect((await waitForEnd(server, id)).status).toBe("void");
  });

  it("that pays a new payment detail from a balance", async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    const amount = (await story.total()) * 2;
    await deposit(server, { quote_id: await story.addQuote(), amount });
    const { approval } = good(await story.fund(story.quote_id));
    expect((await showProposal(server, approval.proposal_id)).why).toContain("created recently");
    await story.waitForStatus("ongoing_checks");
    await ada.confirm(approval.proposal_id);
    await ben.confirm(approval.proposal_id);
    await story.waitForStatus("fiat_sent");
    await advance(server, DAY_MS);
    const later = await story.addQuote();
    good(await story.add(later, [{ amount: 200 }]));
    expect(good(await story.fund(later)).approval).toBeUndefined();
  });

  it("that pays a payee who was put in the place of another after the deposit", async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    const path = `/users/${story.user_id}`;
    const amount = await story.total();
    const tx_id = newTxId();
    await deposit(server, { quote_id: story.quote_id, amount, tx_id });
    const in_place = `${path}/payment_details/${story.payment_detail_id}/deactivate`;
    good(await server.call("PATCH", in_place));
    const payment_detail_id = await addPaymentDetail(server, story.user_id, "eur");
    const offramps = `${path}/quotes/${story.quote_id}/offramps`;
    good(await server.call("DELETE", `${offramps}/${story.offramp_id}`));
    const item = { payment_detail_id, destination_amount: 200, destination_currency: "eur" };
    const [added] = good(await server.call("POST", offramps, { offramps: [item] })).offramps;
    const { approval } = good(await story.execute(tx_id));
    expect((await showProposal(server, approval.proposal_id)).why).toContain("created recently");
    await story.waitForStatus("ongoing_checks", added.id);
    await ada.reject(approval.proposal_id, "Who is this?");
    await story.waitForStatus("failed", added.id);
    expect(await story.owed()).toBe(amount);
  });

  it("that pays a payee added after coins were mined which are credited later", async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    const [total, tx_id] = [await story.total(), newTxId()];
    await deposit(server, { quote_id: story.quote_id, amount: 1, tx_id });
    expect(good(await story.execute(tx_id)).approval).toBeUndefined();
    const { created_at } = await story.show();
    const mined_at = new Date(Date.parse(created_at) - 60_000).toISOString();
    await deposit(server, { quote_id: story.quote_id, amount: total - 1, mined_at });
    const quote = `/users/${story.user_id}/quotes/${story.quote_id}`;
    const { approval } = good(await server.call("GET", quote));
    expect(await showProposal(server, approval.proposal_id)).toMatchObject({
      why: expect.stringContaining("created recently"),
      proposed_by: "worker",
      status: "pending",
    });
    expect((await story.show()).status).toBe("ongoing_checks");
    await ada.confirm(approval.proposal_id);
    await ben.confirm(approval.proposal_id);
    await story.waitForStatus("fiat_sent");
  });

  it("and whoever executed it does not cast the last vote, although the service asks", async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    const [total, tx_id] = [await story.total(), newTxId()];
    await deposit(server, { quote_id: story.quote_id, amount: 1, tx_id });
    const quote = `/users/${story.user_id}/quotes/${story.quote_id}`;
    const crypto_transfer = { tx_id, blockchain: "polygon", network: "amoy" };
    const executed = await ada.call("POST", `${quote}/execute`, { quote: { crypto_transfer } });
    expect(executed.statusCode, executed.body).toBe(200);
    const { created_at } = await story.show();
    const mined_at = new Date(Date.parse(created_at) - 60_000).toISOString();
    await deposit(server, { quote_id: story.quote_id, amount: total - 1, mined_at });
    const { proposal_id } = good(await server.call("GET", quote)).approval;
    expect((await showProposal(server, proposal_id)).proposed_by).toBe("worker");
    await ben.confirm(proposal_id);
    const last = await ada.confirm(proposal_id);
    expect(last.json().message).toContain("another member must confirm it last");
    expect((await showProposal(server, proposal_id)).status).toBe("pending");
    await ben.reject(proposal_id).catch(() => {});
  });

  it("but not a new payee whose payout was there before the deposit", async () => {
    const story = await openStory(server, [{ amount: 200 }]);
    const tx_id = newTxId();
    await deposit(server, { quote_id: story.quote_id, amount: await story.total(), tx_id });
    expect(good(await story.execute(tx_id)).approval).toBeUndefined();
    await story.waitForStatus("fiat_sent");
  });

  it("but not what is sent back to the sender, or paid with a new deposit", async () => {
    const user = await addOwedUser(server, 100);
    const { body } = await server.call("GET", `/users/${user.user_id}/crypto_deposits`);
    expect(good(await user.refund(1, body.crypto_deposits[0].from)).refund).toBeDefined();
    expect((await user.refund(1, STRANGE)).body.proposal).toBeDefined();
    const story = await openStory(server, [{ amount: 200 }]);
    expect(good(await story.execute()).approval).toBeUndefined();
    await story.waitForStatus("fiat_sent");
  });
});

it("an invoice is not paid to changed payment options for 24 hours", async () => {
  const seller = await addBilledAccount(server, "Seller");
  const buyer = { email: `payer-${crypto.randomUUID()}@example.com` };
  await setEmail(server, server.account_id, buyer.email);
  const { user_id, payment_detail_id, addQuote, quote_id } = await openStory(server);
  const { id: invoice_id } = await sendInvoice(server, seller, buyer, {});
  const input = { paymentOptions: [BANK_OPTION] };
  good(await change(server, invoice_id, "changePaymentOptions", seller.key, input));
  const pay = async (to_quote: string) => {
    const item = { payment_detail_id, destination_amount: 1000, destination_currency: "eur" };
    const path = `/users/${user_id}/quotes/${to_quote}/offramps`;
    return server.call("POST", path, { offramps: [{ ...item, invoice_id }] });
  };
  const refused = await pay(quote_id);
  expect(refused.status).toBe(422);
  expect(refused.body.errors).toMatchObject([
    {
      field: "offramps[0].invoice_id",
      code: "record_invalid",
      message: expect.stringMatching(/changed recently: it can be paid from \d{4}-/),
    },
  ]);
  await advance(server, DAY_MS);
  good(await pay(await addQuote()));
});

describe("the 72 hours to re-route a bounced payout", () => {
  /** After 71 hours, a re-route to a new payment detail is proposed. */
  async function proposeLate() {
    const story = await openBounced();
    await advance(server, 71 * HOUR_MS);
    const proposeAgain = async () => {
      const young_id = await addPaymentDetail(server, story.user_id, "eur");
      return proposalIn(await story.reroute(young_id)).id as string;
    };
    return { ...story, id: await proposeAgain(), proposeAgain };
  }

  it("stand still while a proposal about it is open", async () => {
    const story = await proposeLate();
    await advance(server, 60 * HOUR_MS);
    expect((await story.show()).status).toBe("bounced");
    await ben.reject(story.id, "Not this account");
    await settle(server);
    await advance(server, HOUR_MS / 2);
    expect(good(await story.reroute()).offramp.status).toBe("sending_fiat");
    await story.waitForStatus("fiat_sent");
  });

  it("go on once the proposal has ended, and then the payout fails by itself", async () => {
    const story = await proposeLate();
    await advance(server, 60 * HOUR_MS);
    await ben.reject(story.id, "Not this account");
    await advance(server, 3 * HOUR_MS);
    expect((await story.show()).status).toBe("failed");
  });

  it("stand still for 72 hours in all, however many proposals follow each other", async () => {
    const story = await proposeLate();
    await advance(server, 72 * HOUR_MS);
    await waitFor(async () => (await showProposal(server, story.id)).status === "lapsed");
    const second = await story.proposeAgain();
    await advance(server, 3 * HOUR_MS);
    expect((await story.show()).status).toBe("failed");
    await ada.confirm(second);
    await ben.confirm(second);
    expect((await waitForEnd(server, second)).status).toBe("void");
    expect(await story.owed()).toBeGreaterThan(200);
  });
});

it("sliproad verify finds no problems after these tests", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});
