import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/platform/durations.ts";
import { setKyc } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { findFault, good, openStory, settle } from "../offramps/story.ts";
import { act, openOnramp, receive } from "../onramps/story.ts";
import {
  addMember,
  addOwedUser,
  proposalIn,
  shownIn,
  type TestMember,
  waitForEnd,
} from "./proposal-fixture.ts";

/** Attacks by one key on the approval amount of 1000 usd. */
let server: TestServer;
let ada: TestMember;
let ben: TestMember;

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_APPROVAL_ABOVE_USD: "1000", SLIPROAD_DOCUMENTS: "never" },
  });
  ada = await addMember(server, "admin");
  ben = await addMember(server, "approver");
});
afterAll(() => server.close());

/** The sums of one test do not count in the next. */
const nextDay = () => server.call("POST", "/sandbox/clock", { advance_ms: DAY_MS });

it("60 refunds of 1000 at once move 1000 without approval; the rest become proposals", async () => {
  const user = await addOwedUser(server, 60_000);
  const answers = await Promise.all(Array.from({ length: 60 }, () => user.refund(1000)));
  expect(answers.map(({ status }) => status)).not.toContain(422);
  expect(answers.filter(({ body }) => body.refund)).toHaveLength(1);
  expect(answers.filter(({ body }) => body.proposal)).toHaveLength(59);
  expect(await user.owed()).toBe(59_000);
  await nextDay();
  expect((await user.refund(1000)).body.refund).toBeDefined();
  expect((await user.refund(1)).body.proposal).toBeDefined();
});

it("an approved refund does not count in the sum", async () => {
  await nextDay();
  const user = await addOwedUser(server, 5000);
  const { id } = (await user.refund(2000)).body.proposal;
  await ada.confirm(id);
  await ben.confirm(id);
  expect((await waitForEnd(server, id)).status).toBe("done");
  expect((await user.refund(1000)).body.refund).toBeDefined();
});

it("a deposit of 0.01 cannot deliver 990 again and again by accept_difference", async () => {
  await nextDay();
  const delivered: boolean[] = [];
  for (let at = 0; at < 3; at += 1) {
    const { code } = await openOnramp(server, { destination_amount: 900 });
    const deposit = await receive(server, { amount: 0.01, deposit_message: code });
    const { body } = await act(server, deposit.id, "accept_difference");
    delivered.push(body.deposit !== undefined);
    expect(body.deposit ?? body.proposal).toBeDefined();
  }
  expect(delivered).toEqual([true, false, false]);
});

it("a deposit that an onramp did not take counts again when it is matched to another", async () => {
  await nextDay();
  const small = await openOnramp(server, { destination_amount: 5 });
  const deposits = await Promise.all([1, 2, 3].map(() => receive(server, { amount: 0.01 })));
  const accept = (id: string, onramp_id: string) =>
    act(server, id, "accept_difference", { onramp_id });
  await Promise.all(deposits.map(({ id }) => accept(id, small.id)));
  await settle(server);
  const delivered: boolean[] = [];
  for (const { id } of deposits) {
    const large = await openOnramp(server, { destination_amount: 900 });
    const { body } = await accept(id, large.id);
    if (body.error_code !== "invalid_transition") delivered.push(body.deposit !== undefined);
  }
  expect(delivered).toEqual([true, false]);
});

describe("execute and fund above the amount", () => {
  it("execute answers with the approval, the offramps wait, and are paid once approved", async () => {
    await nextDay();
    const story = await openStory(server, [{ amount: 3000 }]);
    const { body } = await story.execute();
    expect(body.approval).toEqual({ proposal_id: expect.any(String), status: "pending" });
    const { proposal_id } = body.approval;
    const waiting = await story.waitForStatus("ongoing_checks");
    expect(waiting.status_message).toContain("approval by two members");
    const section = JSON.stringify(shownIn(await ada.open(), proposal_id));
    for (const text of ["3000 eur", "iban DE89…", "usdc on polygon", "above the approval amount"]) {
      expect(section).toContain(text);
    }
    await ada.confirm(proposal_id);
    await settle(server);
    expect((await story.show()).status).toBe("ongoing_checks");
    await ben.confirm(proposal_id);
    await story.waitForStatus("fiat_sent");
    const repeated = await server.call("GET", `/users/${story.user_id}/quotes/${story.quote_id}`);
    expect(repeated.body.approval).toEqual({ proposal_id, status: "done" });
  });

  it("a rejected proposal fails the offramps and the deposit is owed to the user", async () => {
    await nextDay();
    const story = await openStory(server, [{ amount: 2000 }, { amount: 500 }]);
    const total = await story.total();
    const { proposal_id } = (await story.execute()).body.approval;
    await story.waitForStatus("ongoing_checks");
    await ben.reject(proposal_id, "Not expected");
    const failed = await story.waitForStatus("failed");
    expect(failed.status_message).toContain("rejected");
    await story.waitForStatus("failed", story.offramp_ids[1]);
    expect(await story.owed()).toBe(total);
    const { database } = server.db;
    for (const [status, named] of [
      ["done", proposal_id],
      [null, null],
    ]) {
      const set = "update quotes set approval_status = $2, proposal_id = $3 where id = $1";
      await database.query(set, [story.quote_id, status, named]);
      expect(await findFault(server)).toContain(`quote ${story.quote_id}`);
      await database.query(set, [story.quote_id, "rejected", proposal_id]);
    }
  });

  it("a lapsed proposal fails the offramps", async () => {
    await nextDay();
    const story = await openStory(server, [{ amount: 2000 }]);
    const { proposal_id } = (await story.execute()).body.approval;
    await story.waitForStatus("ongoing_checks");
    await server.call("POST", "/sandbox/clock", { advance_ms: 3 * DAY_MS });
    await story.waitForStatus("failed");
    await waitFor(async () => {
      const { body } = await server.call("GET", `/proposals/${proposal_id}`);
      return body.proposal.status === "lapsed";
    });
  });

  it("many small quotes count together, and a quote counts once", async () => {
    await nextDay();
    const needs: boolean[] = [];
    for (const amount of [400, 400, 400]) {
      const story = await openStory(server, [{ amount }]);
      const tx_id = `0x${crypto.randomUUID().replaceAll("-", "").padEnd(64, "0")}`;
      const first = await story.execute(tx_id);
      const again = await story.execute(tx_id);
      expect(again.body.approval).toEqual(first.body.approval);
      needs.push(first.body.approval !== undefined);
    }
    expect(needs).toEqual([false, false, true]);
  });

  it("fund with a new payee waits for approval too", async () => {
    await nextDay();
    const story = await openStory(server, [{ amount: 4000 }]);
    const amount = await story.total();
    const other = await story.addQuote();
    await server.call("POST", "/sandbox/crypto_deposits", {
      crypto_deposit: { quote_id: other, amount },
    });
    await waitFor(async () => (await story.owed()) === amount);
    const { body } = await story.fund(story.quote_id);
    expect(body.approval.status).toBe("pending");
    await story.waitForStatus("ongoing_checks");
    expect(await story.owed()).toBe(0);
    await ada.confirm(body.approval.proposal_id);
    await ben.confirm(body.approval.proposal_id);
    await story.waitForStatus("fiat_sent");
  });
});

it("a flood of proposals by another account's key hides none from the voters", async () => {
  await nextDay();
  const own = await openStory(server, [{ amount: 3000 }]);
  const { proposal_id } = good(await own.execute()).approval;
  const { key } = await server.addAccount("Flooding tenant");
  const user = await addOwedUser(server, 100, key);
  good(await setKyc(server, user.user_id, { status: "suspended" }, key));
  const { crypto_deposits } = good(
    await server.call("GET", `/users/${user.user_id}/crypto_deposits`, undefined, { key }),
  );
  for (let at = 0; at < 51; at += 1) proposalIn(await user.refund(1, crypto_deposits[0].from));
  const list = async (query: Record<string, string>) => {
    const path = `/dashboard/api/approvals?${new URLSearchParams(query)}`;
    const { approvals, last_id, proposers } = (await ada.call("GET", path)).json();
    const shown: { id: string; account_name: string | null }[] = approvals;
    return { ids: shown.map(({ id }) => id), last_id, proposers, shown };
  };
  const first = await list({});
  expect(first.ids).not.toContain(proposal_id);
  expect(first.shown[0]!.account_name).toBe("Flooding tenant");
  const second = await list({ starting_after: first.last_id });
  const third = await list({ starting_after: second.last_id });
  expect(third.ids).toContain(proposal_id);
  // The fewest first: the flood is named last.
  expect(first.proposers.at(-1).count).toBe(51);
  const own_key = first.proposers[0].proposed_by;
  expect((await list({ by: own_key })).ids).toContain(proposal_id);
  await ben.reject(proposal_id, "Not expected");
  await own.waitForStatus("failed");
});

it("sliproad verify finds no problems after these attacks", async () => {
  await settle(server);
  expect(await findFault(server)).toBeNull();
});
