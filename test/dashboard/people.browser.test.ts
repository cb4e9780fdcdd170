import { afterAll, beforeAll, expect, test } from "vitest";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

const REGISTERED = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

let stories: Stories;
let user_id: string;

beforeAll(async () => {
  stories = await openStories(["admin", "accountant"]);
  const { sliproad } = stories;
  const user = await sliproad.users.create({
    ...{ beneficiary_type: "individual", email: "payer@example.com" },
    ...{ first_name: "Ana", last_name: "Sample" },
  });
  user_id = user.id;
  await sliproad.sandbox.setKycStatus(user_id, "approved");
  const { quote } = await sliproad.quotes.create(user_id, {
    deposit_token: "usdc",
    deposit_token_chain: "polygon",
  });
  await sliproad.sandbox.createCryptoDeposit({ quote_id: quote.id, amount: 40 });
  await sliproad.refundAddresses.create(user_id, { chain: "polygon", address: REGISTERED });
});
afterAll(() => stories?.close());

test("what is owed is sent to an address that nobody knows only after other members agree", async () => {
  const { url } = stories.server;
  await stories.visit("admin", WIDE, async (page) => {
    await page.goto(`${url}/dashboard/people/${user_id}`);
    await page.getByRole("button", { name: "Send back what is owed" }).click();
    const dialog = page.getByRole("dialog", { name: "Send back what is owed" });
    const send = dialog.getByRole("button", { name: "Send back", exact: true });
    await dialog.getByRole("textbox", { name: /Amount in/ }).fill("12.5");
    await dialog.getByRole("combobox", { name: /Address on/ }).fill(`0x${"7".repeat(40)}`);
    expect(await send.isDisabled()).toBe(true);
    await dialog.getByRole("textbox", { name: "Reason" }).fill("Paid too much");
    await inspect(page, "refund-dialog");
    await send.click();
    await dialog.getByText("other members must confirm this first").waitFor();
    await dialog.getByRole("link", { name: "Approvals" }).click();
    await page.waitForURL("**/approvals");
    const card = page
      .locator("section, article")
      .filter({ has: page.getByRole("link", { name: "See everything it is about" }) })
      .filter({ hasText: "Paid too much" });
    await card.getByText("12.50 USDC").first().waitFor();
    await card.getByRole("link", { name: "See everything it is about" }).click();
    await page.waitForURL(`**/people/${user_id}`);
  });
});

test("what is owed goes back to where it came from, and is listed", {
  timeout: 90_000,
}, async () => {
  const { url } = stories.server;
  await stories.visit("admin", NARROW, async (page) => {
    await page.goto(`${url}/dashboard/people/${user_id}`);
    await page.getByRole("button", { name: "Send back what is owed" }).click();
    const dialog = page.getByRole("dialog", { name: "Send back what is owed" });
    await dialog.getByRole("combobox", { name: /Address on/ }).click();
    // The sandbox's sender is offered beside the registered one.
    await expect.poll(() => page.getByRole("option").count()).toBe(2);
    await page.getByRole("option").filter({ hasNotText: REGISTERED }).click();
    await dialog.getByRole("textbox", { name: "Reason" }).fill("The order was cancelled");
    await dialog.getByRole("button", { name: "Send back", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    const refunds = page.getByRole("table", { name: /Refunds/ });
    const row = refunds.getByRole("row").filter({ hasText: "USDC" });
    await row.getByText("Sent").waitFor();
    await row.getByText("40.00").waitFor();
    await page.getByText("Nothing", { exact: true }).waitFor();
    await inspect(page, "person-refunds");
  });
  const { records } = await stories.sliproad.refunds.list(user_id).page();
  expect(records).toMatchObject([{ amount: 40, status: "sent" }]);
});

test("an accountant sees refunds and makes none", async () => {
  await stories.visit("accountant", WIDE, async (page) => {
    await page.goto(`${stories.server.url}/dashboard/people/${user_id}`);
    await page.getByRole("heading", { name: "Refunds" }).waitFor();
    expect(await page.getByRole("button", { name: /Send back/ }).count()).toBe(0);
  });
});
