import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { HOUR_MS, MINUTE_MS } from "../../../src/platform/durations.ts";
import { addPaymentDetail } from "../../harness/ramp.ts";
import { createScriptedBank, type ScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import {
  advance,
  expectRefusal,
  findFault,
  good,
  ledgerBalance,
  openStory,
  type Story,
  settle,
} from "../story.ts";

let server: TestServer;
let bank: ScriptedBank;
beforeAll(async () => {
  bank = createScriptedBank();
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
});
afterAll(() => server.close());
beforeEach(() => {
  bank.manner = "pays";
});
// In every test no money is lost, duplicated or unexplained.
afterEach(async () => expect(await findFault(server)).toBeNull());

const idOf = (story: Story, attempt: number) =>
  `${story.offramp_id.replaceAll("-", "")}00${attempt}`;
const AMOUNT = 100_000n;

/** A paid quote whose payout has reached the given state. */
async function openPayout(status: string): Promise<Story> {
  const story = await openStory(server);
  good(await story.execute());
  await story.waitForStatus(status);
  return story;
}

/** Waits until the bank's answers are read. */
async function readAnswers(): Promise<void> {
  await advance(server, 2_000);
}

async function outcomeOf(bank_reference: string): Promise<string> {
  const [row] = await server.db.database.query<{ outcome: string }>(
    "select outcome from bank_answers where bank_reference = $1",
    [bank_reference],
  );
  return row!.outcome;
}

describe("the instruction", () => {
  it("has the caller's reference for eur, and for no other currency", async () => {
    const story = await openStory(server);
    const path = `/users/${story.user_id}`;
    const pay = async (account: "eur" | "usd" | "mxn") => {
      const payment_detail_id = await addPaymentDetail(server, story.user_id, account);
      const quote_id = await story.addQuote();
      const item = { payment_detail_id, destination_amount: 1000, destination_currency: account };
      const made = good(
        await server.call("POST", `${path}/quotes/${quote_id}/offramps`, {
          offramps: [{ ...item, reference: "Invoice 2026-0117" }],
        }),
      );
      const [offramp] = made.offramps;
      expect(offramp.reference).toBe("Invoice 2026-0117");
      good(await story.execute(undefined, quote_id));
      await story.waitForStatus("fiat_sent", offramp.id);
      return bank.known.get(`${offramp.id.replaceAll("-", "")}001`)!;
    };
    expect(await pay("eur")).toMatchObject({ currency: "eur", reference: "Invoice 2026-0117" });
    expect(await pay("usd")).toMatchObject({ currency: "usd", reference: null });
    expect(await pay("mxn")).toMatchObject({ currency: "mxn", reference: null });
  });
});

describe("a bank that does not respond", () => {
  it("is called again under the same id until it can be reached", async () => {
    bank.manner = "unreachable";
    const story = await openPayout("sending_fiat");
    await settle(server);
    expect(bank.known.has(idOf(story, 1))).toBe(false);
    bank.manner = "pays";
    await advance(server, MINUTE_MS);
    const { payout_reference } = await story.waitForStatus("fiat_sent");
    expect(payout_reference.end_to_end_id).toBe(idOf(story, 1));
    expect(bank.known.get(idOf(story, 1))).toMatchObject({ amount: AMOUNT, currency: "eur" });
  });

  it("times out and then pays: paid once, submitted again under the same id", async () => {
    bank.manner = "lost_answer";
    const story = await openPayout("fiat_sent");
    await advance(server, MINUTE_MS);
    const submitted = bank.handed_over.filter((one) => one.end_to_end_id === idOf(story, 1));
    expect(submitted.length).toBeGreaterThanOrEqual(1);
    expect(new Set(submitted.map((one) => one.amount))).toEqual(new Set([AMOUNT]));
    expect((await story.show()).status).toBe("fiat_sent");
  });

  it("never answers: nothing moves for a month, and there is no second payment", async () => {
    bank.manner = "is_silent";
    const story = await openPayout("sending_fiat");
    await settle(server);
    await advance(server, 30 * 24 * HOUR_MS);
    expect((await story.show()).status).toBe("sending_fiat");
    expectRefusal(await story.giveUp(), "invalid_transition");
    expectRefusal(await story.reroute(), "invalid_transition");
    bank.say(idOf(story, 1), "booked");
    await readAnswers();
    await story.waitForStatus("fiat_sent");
  });
});

describe("a bank that repeats or contradicts itself, or reports unknown payments", () => {
  it("answers twice, with one reference or two: booked once", async () => {
    bank.manner = "is_silent";
    const story = await openPayout("sending_fiat");
    await settle(server);
    const before = await ledgerBalance(server, "bank:sandbox-eur", "eur");
    const answer = bank.say(idOf(story, 1), "booked");
    bank.repeat(answer);
    const other = bank.say(idOf(story, 1), "booked");
    await readAnswers();
    bank.repeat(answer);
    await readAnswers();
    expect((await story.show()).status).toBe("fiat_sent");
    expect((await ledgerBalance(server, "bank:sandbox-eur", "eur")) - before).toBe(-AMOUNT);
    expect(await outcomeOf(other.bank_reference)).toBe("out_of_order");
  });

  it("books another amount or currency: nothing moves, and it is left to the operator", async () => {
    bank.manner = "is_silent";
    const story = await openPayout("sending_fiat");
    await settle(server);
    const less = bank.say(idOf(story, 1), "booked", { amount: AMOUNT - 1n });
    const other = bank.say(idOf(story, 1), "booked", { currency: "usd" });
    await readAnswers();
    expect((await story.show()).status).toBe("sending_fiat");
    expect(await outcomeOf(less.bank_reference)).toBe("conflict");
    expect(await outcomeOf(other.bank_reference)).toBe("conflict");
    bank.say(idOf(story, 1), "booked");
    await readAnswers();
    await story.waitForStatus("fiat_sent");
  });

  it("reports an unknown payment: its money is posted to suspense", async () => {
    const before = await ledgerBalance(server, "suspense", "eur");
    const { account_id } = server;
    const booked = bank.say("nobody", "booked", { account_id, amount: 5n });
    const returned = bank.say(`${"0".repeat(32)}001`, "returned", { account_id, amount: 700n });
    const empty = bank.say("nothing", "returned", { account_id, amount: 0n });
    await readAnswers();
    expect((await ledgerBalance(server, "suspense", "eur")) - before).toBe(-700n);
    const { bank_exceptions } = good(await server.call("GET", "/bank_exceptions?limit=3"));
    const listed = bank_exceptions.map((one: { bank_reference: string }) => one.bank_reference);
    expect(listed.toSorted()).toEqual(
      [booked, returned, empty].map((one) => one.bank_reference).toSorted(),
    );
    expect(bank_exceptions).toContainEqual(
      expect.objectContaining({
        ...{ kind: "no_such_payment", answer: "returned", account_id, offramp_id: null },
        ...{ amount: 7, currency: "eur" },
      }),
    );
    const { key } = await server.addAccount("No operator");
    const refused = await server.call("GET", "/bank_exceptions", undefined, { key });
    expect(refused.body.error_code).toBe("insufficient_scope");
    const { text } = await server.call("GET", "/metrics");
    expect(text).toMatch(/^sliproad_bank_exceptions [1-9]/m);
    for (const { bank_reference } of [booked, returned]) {
      expect(await outcomeOf(bank_reference)).toBe("no_such_payment");
    }
    expect(await outcomeOf(empty.bank_reference)).toBe("conflict");
  });
});

describe("a payment that does not arrive", () => {
  it("is rejected: it fails, and the whole token amount is owed again", async () => {
    bank.manner = "is_silent";
    const story = await openPayout("sending_fiat");
    await settle(server);
    bank.say(idOf(story, 1), "rejected");
    await readAnswers();
    await story.waitForStatus("failed");
    expect(await story.owed()).toBe(await story.total());
    const late = bank.say(idOf(story, 1), "booked");
    await readAnswers();
    expect(await outcomeOf(late.bank_reference)).toBe("out_of_order");
    expect((await story.show()).status).toBe("failed");
  });

  it.each([
    ["less", AMOUNT - 1_500n, { kept: AMOUNT - 1_500n, suspense: 0n }],
    ["more", AMOUNT + 200n, { kept: AMOUNT, suspense: -200n }],
  ])("is returned with %s: what came back is owed to the user", async (_, amount, expected) => {
    const story = await openPayout("fiat_sent");
    const before = await ledgerBalance(server, "suspense", "eur");
    await advance(server, 21 * 24 * HOUR_MS);
    bank.say(idOf(story, 1), "returned", { amount });
    await readAnswers();
    await story.waitForStatus("bounced");
    expect((await ledgerBalance(server, "suspense", "eur")) - before).toBe(expected.suspense);
    good(await story.giveUp());
    // Cents at the rate of the quote, in millionths, rounded down; the fee stays earned.
    const { rate } = await story.show();
    const worth = Math.floor((Number(expected.kept) * 10_000) / rate + 1e-6) / 1_000_000;
    expect(await story.owed()).toBe(worth);
    expect(await ledgerBalance(server, `payout_pending:${story.offramp_id}`, "eur")).toBe(0n);
    await story.takeOut(await story.owed());
  });

  it("is returned with nothing: no money came, so nothing moves", async () => {
    const story = await openPayout("fiat_sent");
    const answer = bank.say(idOf(story, 1), "returned", { amount: 0n });
    await readAnswers();
    expect(await outcomeOf(answer.bank_reference)).toBe("conflict");
    expect((await story.show()).status).toBe("fiat_sent");
  });

  it("is returned without ever having been booked: both are posted at once", async () => {
    bank.manner = "is_silent";
    const story = await openPayout("sending_fiat");
    await settle(server);
    bank.say(idOf(story, 1), "returned");
    await readAnswers();
    await story.waitForStatus("bounced");
    const before = await ledgerBalance(server, "bank:sandbox-eur", "eur");
    const [late, second] = [bank.say(idOf(story, 1), "booked"), bank.say(idOf(story, 1), "booked")];
    await readAnswers();
    // The booking that was missing moves nothing any more; a second one contradicts.
    expect(await outcomeOf(late.bank_reference)).toBe("applied");
    expect(await outcomeOf(second.bank_reference)).toBe("out_of_order");
    expect((await story.show()).status).toBe("bounced");
    expect(await ledgerBalance(server, "bank:sandbox-eur", "eur")).toBe(before);
  });

  it("is returned in another currency: posted to suspense, and the payment counts as made", async () => {
    const story = await openPayout("fiat_sent");
    const answer = bank.say(idOf(story, 1), "returned", { currency: "usd" });
    await readAnswers();
    expect(await outcomeOf(answer.bank_reference)).toBe("suspense");
    expect((await story.show()).status).toBe("fiat_sent");
  });
});

describe("a re-route", () => {
  it("keeps amount and fee, gets a new id, and is paid", async () => {
    const story = await openPayout("fiat_sent");
    const before = await story.show();
    const fees = await ledgerBalance(server, "fees", "eur");
    bank.say(idOf(story, 1), "returned");
    await readAnswers();
    await story.waitForStatus("bounced");
    const other = await addPaymentDetail(server, story.user_id, "eur");
    good(await story.reroute(other));
    const after = await waitFor(async () => {
      const offramp = await story.show();
      return offramp.status === "fiat_sent" && offramp;
    });
    expect(after.payment_detail_id).toBe(other);
    expect(after.payout_reference.end_to_end_id).toBe(idOf(story, 2));
    for (const name of ["destination_amount", "fee", "rate", "rails"]) {
      expect(after[name]).toBe(before[name]);
    }
    expect(await ledgerBalance(server, "fees", "eur")).toBe(fees);
    expect(bank.known.get(idOf(story, 2))!.amount).toBe(AMOUNT);
  });

  it("attempt 1 returned after attempt 2 was sent: posted to suspense, attempt 2 continues", async () => {
    const story = await openPayout("fiat_sent");
    bank.say(idOf(story, 1), "returned");
    await readAnswers();
    await story.waitForStatus("bounced");
    bank.manner = "is_silent";
    good(await story.reroute());
    await waitFor(() => bank.known.has(idOf(story, 2)));
    await settle(server);
    const before = await ledgerBalance(server, "suspense", "eur");
    const again = bank.say(idOf(story, 1), "returned");
    const booked = bank.say(idOf(story, 1), "booked");
    await readAnswers();
    expect(await outcomeOf(again.bank_reference)).toBe("suspense");
    expect(await outcomeOf(booked.bank_reference)).toBe("out_of_order");
    expect((await ledgerBalance(server, "suspense", "eur")) - before).toBe(-AMOUNT);
    expect((await story.show()).status).toBe("sending_fiat");
    bank.say(idOf(story, 2), "booked");
    await readAnswers();
    expect((await story.waitForStatus("fiat_sent")).payout_reference.end_to_end_id).toBe(
      idOf(story, 2),
    );
  });

  it("is refused to a payment detail of another user, currency or state", async () => {
    const story = await openPayout("fiat_sent");
    bank.say(idOf(story, 1), "returned");
    await readAnswers();
    await story.waitForStatus("bounced");
    const stranger = await openStory(server);
    expectRefusal(await story.reroute(stranger.payment_detail_id), "record_not_found");
    const usd = await addPaymentDetail(server, story.user_id, "usd");
    expectRefusal(await story.reroute(usd), "currency_mismatch");
    const gone = await addPaymentDetail(server, story.user_id, "eur");
    good(await server.call("PATCH", `/users/${story.user_id}/payment_details/${gone}/deactivate`));
    expectRefusal(await story.reroute(gone), "payment_detail_deactivated");
    expect((await story.show()).status).toBe("bounced");
  });
});
