import { afterAll, beforeAll, expect, it } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { createTestRates } from "../harness/rates.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { advance, findFault, good, openStory, settle } from "./story.ts";

const rates = createTestRates({ eur: "0.86" });
let server: TestServer;
beforeAll(async () => {
  const settings = {
    SLIPROAD_DOCUMENTS: "never",
    SLIPROAD_CANARY_USD: "50",
    SLIPROAD_QUOTE_LIFE_MINUTES: "5",
  };
  server = await startTestServer({ environment: { ...rates.environment, ...settings } });
});
afterAll(() => server.close());

it("on a new rail a large payout waits until the bank has booked a small one", async () => {
  const large = await openStory(server, [{ amount: 500 }]);
  good(await large.execute());
  await large.waitForStatus("sending_fiat");
  await settle(server);
  for (let round = 0; round < 3; round += 1) await advance(server, 2 * MINUTE_MS);
  const waiting = await large.show();
  expect(waiting).toMatchObject({
    status: "sending_fiat",
    status_message:
      "Payouts in eur by local are new here: this one is sent once the bank has confirmed one of " +
      "at most 50 usd.",
  });
  const sent = () => server.core.database.query("select from sandbox_bank_payouts");
  expect(await sent()).toEqual([]);

  const small = await openStory(server, [{ amount: 40 }]);
  good(await small.execute());
  await small.waitForStatus("fiat_sent");
  await advance(server, 2 * MINUTE_MS);
  expect(await large.waitForStatus("fiat_sent")).toMatchObject({ status_message: null });

  // The rail is proven from now on.
  const next = await openStory(server, [{ amount: 600 }]);
  good(await next.execute());
  await next.waitForStatus("fiat_sent");
  expect(await findFault(server)).toBeNull();
});

it("what came back unconfirmed proves nothing", async () => {
  await server.core.database.query("delete from proven_rails");
  const metadata = { sandbox_outcome: "failed" };
  const failing = await openStory(server, [{ amount: 40, metadata }]);
  good(await failing.execute());
  await failing.waitForStatus("failed");
  const large = await openStory(server, [{ amount: 500 }]);
  good(await large.execute());
  await large.waitForStatus("sending_fiat");
  await advance(server, 2 * MINUTE_MS);
  expect((await large.show()).status_message).toContain("are new here");
});

it("one that waits can be given up: its tokens are owed again, and it is never sent", async () => {
  await server.core.database.query("delete from proven_rails");
  const large = await openStory(server, [{ amount: 500 }]);
  const total = await large.total();
  good(await large.execute());
  await waitFor(async () => (await large.show()).status_message?.includes("are new here"));
  const { offramp } = good(await large.giveUp());
  expect(offramp.status).toBe("failed");
  expect(await large.owed()).toBe(total);
  // The small one proves the rail: what was given up stays so.
  const small = await openStory(server, [{ amount: 40 }]);
  good(await small.execute());
  await small.waitForStatus("fiat_sent");
  await advance(server, 2 * MINUTE_MS);
  expect((await large.show()).status).toBe("failed");
  const sent = await server.core.database.query(
    "select from sandbox_bank_payouts where starts_with(end_to_end_id, $1)",
    [large.offramp_id.replaceAll("-", "")],
  );
  expect(sent).toEqual([]);
  // What the bank has is not given up.
  expect(await small.giveUp()).toMatchObject({
    status: 422,
    body: { error_code: "invalid_transition" },
  });
  expect(await findFault(server)).toBeNull();
});

it.each([
  ["0.8557", "fiat_sent"],
  // More than 0.5 % worse for us.
  ["0.8556", "bounced"],
])(
  "who proves the rail has no option on the rate: at %s it is %s",
  async (eur, status) => {
    await server.core.database.query("delete from proven_rails");
    await rates.set(server, { eur: "0.86" });
    const large = await openStory(server, [{ amount: 500 }]);
    const total = await large.total();
    good(await large.execute());
    await waitFor(async () => (await large.show()).status_message?.includes("are new here"));
    await advance(server, HOUR_MS + 6 * MINUTE_MS);
    await rates.set(server, { eur });
    const small = await openStory(server, [{ amount: 40 }]);
    good(await small.execute());
    await small.waitForStatus("fiat_sent");
    await advance(server, 2 * MINUTE_MS);
    const { status_message } = await large.waitForStatus(status);
    if (status === "fiat_sent") return;
    expect(status_message).toContain("The rate has moved too far");
    good(await large.giveUp());
    expect(await large.owed()).toBe(total);
    expect(await findFault(server)).toBeNull();
  },
  60_000,
);

it("on a new rail the bank has no more than the limit at a time, however many are sent", async () => {
  await server.core.database.query("delete from proven_rails");
  const before = (await server.core.database.query("select from sandbox_bank_payouts")).length;
  const metadata = { sandbox_outcome: "stuck" };
  const items = Array.from({ length: 6 }, () => ({ amount: 20, metadata }));
  const many = await openStory(server, items);
  good(await many.execute());
  await many.waitForStatus("sending_fiat", many.offramp_ids.at(-1));
  for (let round = 0; round < 2; round += 1) await advance(server, 2 * MINUTE_MS);
  const sent = await server.core.database.query("select from sandbox_bank_payouts");
  // 20 eur are less than 25 usd, and more than 16.
  expect(sent.length - before).toBe(2);
});

it("a payout that the bank has no longer says that it waits", async () => {
  const { database } = server.core;
  const [rail] = await database.query<{ bank_account: string }>(
    "select distinct bank_account from payouts where bank_account is not null",
  );
  const metadata = { sandbox_outcome: "stuck" };
  const large = await openStory(server, [{ amount: 500, metadata }]);
  good(await large.execute());
  await waitFor(async () => (await large.show()).status_message?.includes("are new here"));
  await database.query(
    "insert into proven_rails (bank_account, currency, rail, proven_at) values ($1, $2, $3, $4)",
    [rail!.bank_account, "eur", "local", new Date()],
  );
  await advance(server, 2 * MINUTE_MS);
  await waitFor(async () => (await large.show()).status_message === null);
  expect((await large.show()).status).toBe("sending_fiat");
});
