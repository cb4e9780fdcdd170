import { afterAll, beforeAll, expect, test } from "vitest";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

let stories: Stories;

beforeAll(async () => {
  stories = await openStories(["admin", "accountant"]);
  await createSampleBusiness(stories.sliproad);
});
afterAll(() => stories?.close());

test("a deposit without a code is matched to the onramp that it pays", async () => {
  const { sliproad, server } = stories;
  const users = await sliproad.users.list({ limit: 100 }).page();
  const [onramp] = (
    await Promise.all(users.records.map(({ id }) => sliproad.onramps.list(id).page()))
  ).flatMap(({ records }) => records.filter(({ status }) => status === "initiated"));
  const { deposit_amount: amount, fiat_currency: currency } = onramp!;
  const { deposit_instructions } = await sliproad.onramps.show(onramp!.user_id, onramp!.id);
  const code = deposit_instructions.deposit_message;
  const bank_reference = "STATEMENT-LINE-7";
  const text = { deposit_message: "as agreed", bank_reference };
  await sliproad.sandbox.createDeposit({ amount, currency, ...text });
  await stories.visit("admin", WIDE, async (page) => {
    await page.goto(`${server.url}/dashboard/overview`);
    await page
      .getByRole("link", { name: /deposits/i })
      .nth(1)
      .click();
    await page.waitForURL("**/deposits?tab=unmatched");
    const row = page.getByRole("row").filter({ hasText: bank_reference });
    await row.getByRole("button").click();
    await page.getByRole("menuitem", { name: "Match" }).click();
    const dialog = page.getByRole("dialog", { name: "Match" });
    const match = dialog.getByRole("button", { name: /^Match / });
    expect(await match.isDisabled()).toBe(true);
    await dialog.getByText("exact", { exact: true }).first().waitFor();
    await inspect(page, "deposit-match");
    const find = dialog.getByRole("textbox", { name: "Find an onramp" });
    await find.fill("2222-3333-4444");
    await dialog.getByText("No unpaid onramp in USD has this.").waitFor();
    await find.fill(code.toLowerCase());
    await expect.poll(() => dialog.getByRole("radio").count()).toBe(1);
    await find.fill(onramp!.id);
    await dialog.getByText("exact", { exact: true }).waitFor();
    await dialog.getByRole("radio").click();
    await match.click();
    await dialog.waitFor({ state: "detached" });
    await row.waitFor({ state: "detached" });
    await page.getByRole("combobox", { name: "State" }).click();
    await page.getByRole("option", { name: "Matched", exact: true }).click();
    await page.waitForURL("**/deposits?tab=unmatched&state=matched");
    await row.getByRole("link", { name: "Its onramp" }).click();
    await page.waitForURL(`**/deposits/${onramp!.id}`);
  });
  const shown = await sliproad.onramps.show(onramp!.user_id, onramp!.id);
  expect(["sending_fiat", "crypto_sent"]).toContain(shown.status);
});

test.each([WIDE, NARROW])("coins, $width: an accountant decides nothing", async (look) => {
  const { url } = stories.server;
  await stories.visit("accountant", look, async (page) => {
    await page.goto(`${url}/dashboard/deposits?tab=coins`);
    await page.getByRole("row").nth(1).waitFor();
    await inspect(page, `coins-${look.width}`);
    await page.goto(`${url}/dashboard/deposits?tab=unmatched`);
    await page.getByRole("row").nth(1).waitFor();
    expect(await page.getByRole("button", { name: /Decide/ }).count()).toBe(0);
    await inspect(page, `unmatched-${look.width}`);
  });
});
