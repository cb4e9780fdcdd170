import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { createApiKey } from "../../src/accounts/create-api-key.ts";
import type { KeyScope } from "../../src/accounts/key-scopes.ts";
import { makeApiKey } from "../../src/accounts/model.ts";
import { UNRESTRICTED } from "../../src/accounts/restrict-key.ts";
import { EVERY } from "../../src/limits/model.ts";
import { setLimit } from "../../src/limits/set-limit.ts";
import { OFFRAMP_STATUSES } from "../../src/offramps/model.ts";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { insertSandboxTransfer } from "../../src/partners/chain/sandbox-store.ts";
import { addMember } from "../approvals/proposal-fixture.ts";
import { createScriptedBank, type ScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openSteps, type Steps } from "../harness/steps.ts";
import { setAccount } from "../kyc/review/review-fixture.ts";
import { expectRefusal, findFault, good, openStory } from "../offramps/story.ts";

let server: TestServer;
let bank: ScriptedBank;
let steps: Steps;
beforeAll(async () => {
  bank = createScriptedBank();
  bank.manner = "is_silent";
  const open = (core: TestServer["core"]) => ({
    chain: createSandboxChain(core),
    bank: bank.port,
  });
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" }, partners: open });
  // The test itself is the worker: a forced state stays until the test continues.
  await server.app.worker.stop();
  steps = await openSteps(server.core, open(server.core));
});
afterAll(async () => {
  steps.close();
  await server.close();
});
afterEach(async () => expect(await findFault(server)).toBeNull());

const forceStatus = (offramp_id: string, status: string) =>
  server.call("PATCH", `/sandbox/offramps/${offramp_id}`, { offramp: { status } });

it.each(OFFRAMP_STATUSES)("moves a new offramp to %s, with its money", async (status) => {
  const story = await openStory(server, [{ amount: 100 }, { amount: 200 }]);
  expect(good(await forceStatus(story.offramp_id, status)).offramp.status).toBe(status);
  expect(good(await forceStatus(story.offramp_id, status)).offramp.status).toBe(status);
  expect(await findFault(server)).toBeNull();
  await steps.runAll();
});

it("takes over a payout that the worker has recorded but not sent", async () => {
  const story = await openStory(server);
  good(await forceStatus(story.offramp_id, "pending_internal_assessment"));
  expect(await steps.run("assess-offramp")).toBe(true);
  expect((await story.show()).status).toBe("sending_fiat");
  expect(good(await forceStatus(story.offramp_id, "fiat_sent")).offramp.status).toBe("fiat_sent");
  await steps.runAll();
  expect(bank.known.has(`${story.offramp_id.replaceAll("-", "")}001`)).toBe(false);
  expect(good(await forceStatus(story.offramp_id, "failed")).offramp.status).toBe("failed");
  // 1000 eur came back: 1162.790697 usdc at 0.86. The fee of 4 eur stays earned.
  expect(await story.owed()).toBe(1162.790697);
});

it("an offramp that fails unpaid ends its quote: nothing can be added or paid", async () => {
  const story = await openStory(server, [{ amount: 100 }, { amount: 200 }]);
  good(await forceStatus(story.offramp_id, "failed"));
  for (const id of story.offramp_ids) expect((await story.show(id)).status).toBe("failed");
  expectRefusal(await story.add(story.quote_id, [{ amount: 1 }]), "quote_expired");
  expectRefusal(await story.execute(), "quote_expired");
});

it("stops at a hold before each step by which money would leave", async () => {
  const stories = await Promise.all(Array.from({ length: 4 }, () => openStory(server)));
  const [, funded, recorded, bounced] = stories;
  good(await forceStatus(recorded!.offramp_id, "pending_internal_assessment"));
  expect(await steps.run("assess-offramp")).toBe(true);
  good(await forceStatus(funded!.offramp_id, "pending_internal_assessment"));
  good(await forceStatus(bounced!.offramp_id, "bounced"));
  const statuses = ["initiated", "pending_internal_assessment", "sending_fiat", "bounced"];
  for (const [at, { user_id, offramp_id, show }] of stories.entries()) {
    good(await server.call("POST", `/users/${user_id}/freeze`, { reason: "A court order" }));
    expectRefusal(await forceStatus(offramp_id, "fiat_sent"), "on_hold");
    expect((await show()).status).toBe(statuses[at]);
  }
});

it("stops before what its caller may not do: execute, re-route and refund", async () => {
  const { database, index_key, clock } = server.core;
  const addKey = async (...scopes: KeyScope[]) => {
    const key = makeApiKey(index_key, "sandbox", server.account_id);
    const by = { actor: "command line", reason: "test" } as const;
    const restrictions = { ...UNRESTRICTED, scopes };
    const input = { account_id: server.account_id, name: "restricted", key, restrictions, ...by };
    await database.transaction(async (tx) => createApiKey(tx, index_key, input, clock.now()));
    return key;
  };
  const sandbox_key = await addKey("sandbox");
  const force = (offramp_id: string, status: string, key = sandbox_key) =>
    server.call("PATCH", `/sandbox/offramps/${offramp_id}`, { offramp: { status } }, { key });
  const developer = await addMember(server, "developer");
  const statusOf = async (one: { show(): Promise<{ status: string }> }) =>
    (await one.show()).status;

  const story = await openStory(server, [{ amount: 100 }]);
  expectRefusal(await force(story.offramp_id, "fiat_sent"), "insufficient_scope");
  const path = `/sandbox/offramps/${story.offramp_id}`;
  const body = { offramp: { status: "fiat_sent" } };
  expect((await developer.visitor.call("PATCH", path, body)).statusCode).toBe(403);
  expect(await statusOf(story)).toBe("initiated");
  const { quote } = good(
    await server.call("GET", `/users/${story.user_id}/quotes/${story.quote_id}`),
  );
  expect(quote.status).toBe("open");

  // What the bank does, it plays.
  good(await story.execute());
  expect(good(await force(story.offramp_id, "fiat_sent")).offramp.status).toBe("fiat_sent");
  expect(good(await force(story.offramp_id, "bounced")).offramp.status).toBe("bounced");
  for (const status of ["sending_fiat", "failed"]) {
    expectRefusal(await force(story.offramp_id, status), "insufficient_scope");
    expect(await statusOf(story)).toBe("bounced");
  }
  const whole_key = await addKey("sandbox", "payouts:execute", "refunds");
  expect(good(await force(story.offramp_id, "sending_fiat", whole_key)).offramp.status).toBe(
    "sending_fiat",
  );
  expect(good(await force(story.offramp_id, "bounced")).offramp.status).toBe("bounced");
  expect(good(await force(story.offramp_id, "failed", whole_key)).offramp.status).toBe("failed");
  const next = await openStory(server, [{ amount: 100 }]);
  expect(good(await force(next.offramp_id, "fiat_sent", whole_key)).offramp.status).toBe(
    "fiat_sent",
  );
  await steps.runAll();
});

it("stops at a limit, of the account and of the payee", async () => {
  const story = await openStory(server, [{ amount: 100 }]);
  const bounced = await openStory(server, [{ amount: 100 }]);
  good(await forceStatus(bounced.offramp_id, "bounced"));
  for (const scope of ["account", "payee"] as const) {
    await withLimit(scope, async () => {
      expectRefusal(await forceStatus(story.offramp_id, "fiat_sent"), "limit_exceeded");
      expect((await story.show()).status).toBe("initiated");
    });
  }
  await withLimit("payee", async () => {
    expectRefusal(await forceStatus(bounced.offramp_id, "fiat_sent"), "limit_exceeded");
    expect((await bounced.show()).status).toBe("bounced");
  });
});

it("above the approval amount waits for two members, like an execution", async () => {
  const story = await openStory(server, [{ amount: 100 }]);
  const bounced = await openStory(server, [{ amount: 100 }]);
  good(await forceStatus(bounced.offramp_id, "bounced"));
  await setAccount(server, server.account_id, { approval_above_usd: 1_00n });
  try {
    expectRefusal(await forceStatus(story.offramp_id, "fiat_sent"), "invalid_transition");
    expect((await story.show()).status).toBe("pending_internal_assessment");
    const path = `/users/${story.user_id}/quotes/${story.quote_id}`;
    const { quote } = good(await server.call("GET", path));
    expect(quote.executed).toBe(true);
    expectRefusal(await forceStatus(story.offramp_id, "sending_fiat"), "invalid_transition");
    expectRefusal(await forceStatus(bounced.offramp_id, "fiat_sent"), "invalid_transition");
    expect((await bounced.show()).status).toBe("bounced");
  } finally {
    await setAccount(server, server.account_id, { approval_above_usd: null });
  }
});

it("pays a quote beside the transfer that its execution announced, without an error", async () => {
  const database = server.core.database;
  const transfer = {
    ...{
      chain: "polygon" as const,
      tx_id: `0x${"ab".repeat(32)}`,
      address: `0x${"cd".repeat(20)}`,
    },
    ...{ token: "usdc", amount: 1n, mined_at: new Date(), sender: `0x${"ef".repeat(20)}` },
  };
  await Promise.all(Array.from({ length: 8 }, () => insertSandboxTransfer(database, transfer)));
  const rows = await database.query<{ log_index: number }>(
    "select log_index from sandbox_transfers where tx_id = $1 order by 1",
    [transfer.tx_id],
  );
  expect(rows.map(({ log_index }) => log_index)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

async function withLimit(scope: "account" | "payee", work: () => Promise<void>): Promise<void> {
  const { database, clock } = server.core;
  const by = { operator_id: server.account_id, actor: "command line", reason: "test" } as const;
  const rule = {
    account_id: server.account_id,
    user_id: EVERY,
    scope,
    time_window: "day" as const,
  };
  const set = (amount_max: bigint | null) =>
    database.transaction(async (tx) =>
      setLimit(tx, { ...rule, amount_max, count_max: null }, by, clock.now()),
    );
  await set(1_00n);
  try {
    await work();
  } finally {
    await set(null);
  }
}

it("moves nothing because of an offramp that somebody altered by SQL", async () => {
  const alter = async ({ offramp_id }: { offramp_id: string }, by: number) => {
    await server.db.database.query(
      "update offramps set destination_amount = destination_amount + $2 where id = $1",
      [offramp_id, by],
    );
  };
  const stories = [];
  for (const status of ["initiated", "sending_fiat", "fiat_sent", "bounced"]) {
    const story = await openStory(server, [{ amount: 20 }]);
    good(await forceStatus(story.offramp_id, status));
    stories.push({ ...story, status });
  }
  for (const story of stories) {
    await alter(story, 100_00);
    for (const to of ["bounced", "fiat_sent", "failed"]) {
      expect((await forceStatus(story.offramp_id, to)).status, `${story.status} ${to}`).toBe(500);
    }
    expect((await story.show()).status).toBe(story.status);
    expect(await story.owed()).toBe(0);
    await alter(story, -100_00);
  }
  // Nothing was paid; the bank rejected all of it; 20 eur came back, at 0.86.
  const given_back = [0, 23.348838, 23.255813, 23.255813];
  for (const { offramp_id, owed } of stories) {
    good(await forceStatus(offramp_id, "failed"));
    expect(await owed()).toBe(given_back.shift());
  }
});

it("422 where there is no path, 404 for an unknown offramp", async () => {
  const story = await openStory(server);
  good(await forceStatus(story.offramp_id, "failed"));
  expectRefusal(await forceStatus(story.offramp_id, "fiat_sent"), "invalid_transition");
  expectRefusal(await forceStatus(story.offramp_id, "nonsense"), "record_invalid");
  expectRefusal(await forceStatus(crypto.randomUUID(), "failed"), "record_not_found");
});
