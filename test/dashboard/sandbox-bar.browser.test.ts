import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { waitFor } from "../harness/wait-for.ts";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

let stories: Stories;

beforeAll(async () => {
  stories = await openStories(["admin"]);
  await createSampleBusiness(stories.sliproad);
});
afterAll(() => stories?.close());

/** Presses a button of the bar on the page of a record. */
async function play(page: Page, path: string, name: string): Promise<void> {
  await page.goto(`${stories.server.url}/dashboard${path}`);
  const bar = page.getByRole("region", { name: "Sandbox" });
  await bar.getByRole("button", { name, exact: true }).click();
  await bar.getByText(`${name}: done`).waitFor();
}

test("the partners are played for the record that is open", async () => {
  const { sliproad } = stories;
  const user = await sliproad.users.create({
    ...{ beneficiary_type: "individual", email: "played@example.test" },
    ...{ first_name: "Played", last_name: "Invented", country: "PT" },
  });
  const users = await sliproad.users.list({ limit: 100 }).page();
  const onramps = (
    await Promise.all(users.records.map(({ id }) => sliproad.onramps.list(id).page()))
  ).flatMap(({ records }) => records);
  const onramp = onramps.find(({ status }) => status === "initiated")!;
  const [paid] = (await sliproad.offramps.listAll({ status: "fiat_sent" }).page()).records;
  await stories.visit("admin", WIDE, async (page) => {
    await play(page, `/people/${user.id}`, "Refuse identity");
    await inspect(page, "sandbox-bar");
    await play(page, `/deposits/${onramp.id}`, "It fails");
    await play(page, `/payouts/${paid!.id}`, "Bank returns it");
  });
  expect((await sliproad.users.show(user.id)).kyc.general.status).toBe("failed");
  expect((await sliproad.onramps.show(onramp.user_id, onramp.id)).status).toBe("failed");
  expect((await sliproad.offramps.show(paid!.user_id, paid!.id)).status).toBe("bounced");
});

test("half of the coins, and then the rest, pay a quote", async () => {
  const { sliproad } = stories;
  const [sample] = (await sliproad.offramps.listAll({ status: "fiat_sent" }).page()).records;
  const { user_id, payment_detail_id, destination_currency } = sample!;
  const terms = { deposit_token: "usdc", deposit_token_chain: "polygon" };
  const { quote } = await sliproad.quotes.create(user_id, terms);
  const payout = { payment_detail_id, destination_currency, destination_amount: 333.33 };
  const [offramp] = await sliproad.offramps.create(user_id, quote.id, [payout]);
  const { quote: priced } = await sliproad.quotes.show(user_id, quote.id);
  const received = async () => {
    const { records } = await sliproad.balances.listCryptoDeposits(user_id).page();
    const own = records.filter((one) => one.quote_id === quote.id);
    return own.reduce((sum, one) => sum + Number(one.amount), 0);
  };
  await stories.visit("admin", NARROW, async (page) => {
    await play(page, `/quotes/${quote.id}`, "Half of them arrives");
    const half = await waitFor(async () => (await received()) || undefined);
    expect(half).toBeCloseTo(priced.deposit_token_amount / 2, 5);
    await play(page, `/quotes/${quote.id}`, "Coins arrive");
    await waitFor(async () => (await received()) > half || undefined);
    await inspect(page, "sandbox-bar-360");
  });
  expect(await received()).toBeCloseTo(priced.deposit_token_amount, 5);
  expect(offramp.status).toBe("initiated");
});
