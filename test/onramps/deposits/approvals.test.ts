import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  addMember,
  proposalIn,
  type TestMember,
  waitForEnd,
} from "../../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { findFault, good, settle } from "../../offramps/story.ts";
import { act, openOnramp, receive, showDeposit } from "../story.ts";

let server: TestServer;
let ada: TestMember;
let ben: TestMember;
beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_APPROVAL_ABOVE_USD: "1000" } });
  ada = await addMember(server, "admin");
  ben = await addMember(server, "approver");
});
afterAll(() => server.close());

describe("decisions on deposits above the approval amount", () => {
  it("up to the amount are made at once", async () => {
    const deposit = await receive(server, { amount: 1000, deposit_message: "no code" });
    expect(good(await act(server, deposit.id, "return")).deposit.status).toBe("returning");
  });

  it.each(["match", "accept_difference", "return"] as const)(
    "%s waits for two members, then runs once",
    async (action) => {
      const onramp = await openOnramp(server);
      const amount = action === "accept_difference" ? 1003 : 1004;
      const deposit = await receive(server, { amount, deposit_message: "no code" });
      const request = action === "return" ? undefined : { onramp_id: onramp.id };
      const proposal = proposalIn(await act(server, deposit.id, action, request));
      expect(proposal).toMatchObject({ record_id: deposit.id, status: "pending" });
      await ada.confirm(proposal.id);
      await settle(server);
      expect((await showDeposit(server, deposit.id)).status).toBe("unmatched");
      await Promise.all([ben.confirm(proposal.id), ben.confirm(proposal.id)]);
      expect((await waitForEnd(server, proposal.id)).status).toBe("done");
      await settle(server);
      const end = await showDeposit(server, deposit.id);
      expect(end.status).toBe(action === "return" ? "returned" : "matched");
      expect((await onramp.show()).status).toBe(action === "return" ? "initiated" : "crypto_sent");
      expect(await findFault(server)).toBeNull();
    },
  );

  it("a cent for a large onramp counts with the value that would be delivered", async () => {
    const onramp = await openOnramp(server, { destination_amount: 1_000_000 });
    const deposit = await receive(server, { amount: 0.01, deposit_message: onramp.code });
    const proposal = proposalIn(await act(server, deposit.id, "accept_difference"));
    expect(proposal.amount_usd).toBe(1_004_000);
    const page = (await ada.open()).body;
    expect(page).toContain("1004000 usd");
    expect(page).toContain("0.01 usd");
  });

  it("members approve the onramp that they saw, not one that is named later", async () => {
    const [seen, other] = [await openOnramp(server), await openOnramp(server)];
    const deposit = await receive(server, { amount: 1003, deposit_message: seen.code });
    const first = proposalIn(await act(server, deposit.id, "accept_difference"));
    const request = { onramp_id: other.id };
    const second = proposalIn(await act(server, deposit.id, "accept_difference", request));
    for (const member of [ada, ben]) await member.confirm(second.id);
    expect((await waitForEnd(server, second.id)).status).toBe("done");
    await settle(server);
    for (const member of [ada, ben]) await member.confirm(first.id);
    expect(await waitForEnd(server, first.id)).toMatchObject({ status: "void" });
    expect((await seen.show()).status).toBe("initiated");
    expect((await other.show()).status).toBe("crypto_sent");
  });

  it("a decision is void once the onramp is paid otherwise, and moves nothing", async () => {
    const onramp = await openOnramp(server);
    const deposit = await receive(server, { amount: 1004, deposit_message: "no code" });
    const request = { onramp_id: onramp.id };
    const proposal = proposalIn(await act(server, deposit.id, "match", request));
    await receive(server, { amount: 1004, deposit_message: onramp.code });
    for (const member of [ada, ben]) await member.confirm(proposal.id);
    const end = await waitForEnd(server, proposal.id);
    expect(end).toMatchObject({ status: "void" });
    expect((await showDeposit(server, deposit.id)).status).toBe("unmatched");
    expect(await findFault(server)).toBeNull();
  });
});
