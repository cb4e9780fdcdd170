import { afterAll, beforeAll, expect, test } from "vitest";
import { KYC_STATUSES } from "../../src/users/model.ts";
import { createSampleBusiness, type SampleBusiness } from "../harness/sample-business.ts";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

const TEST_MS = 120_000;

let stories: Stories;
let business: SampleBusiness;

beforeAll(async () => {
  stories = await openStories(["accountant"]);
  business = await createSampleBusiness(stories.sliproad);
  await stories.sliproad.sandbox.setKycStatus(business.user_ids[0]!, "suspended");
  await stories.sliproad.quotes.create(business.user_ids[1]!, {
    ...{ deposit_token: "usdt", deposit_token_chain: "polygon" },
  });
}, TEST_MS);
afterAll(() => stories?.close());

const open = (path: string) => `${stories.server.url}/dashboard/${path}`;

test("people are found by every state of their identity, each with its own name", {
  timeout: TEST_MS,
}, async () => {
  await stories.visit("accountant", NARROW, async (page) => {
    await page.goto(open("people"));
    const identity = page.getByLabel("Identity");
    await identity.waitFor();
    const names = await identity.locator("option").allTextContents();
    expect(names).toHaveLength(KYC_STATUSES.length + 1);
    expect(new Set(names).size).toBe(names.length);
    await identity.selectOption("Suspended");
    await inspect(page, "people-states");
    await page.waitForURL("**/people?status=suspended");
    await expect.poll(() => page.locator("tbody tr").allTextContents()).toHaveLength(1);
    for (const status of KYC_STATUSES) {
      await page.goto(open(`people?status=${status}`));
      await expect.poll(() => identity.inputValue()).toBe(status);
    }
  });
});

test("quotes are filtered by state, token and day, and the link shows the same", {
  timeout: TEST_MS,
}, async () => {
  await stories.visit("accountant", WIDE, async (page) => {
    await page.goto(open("quotes"));
    await expect.poll(() => page.locator("tbody tr").count()).toBe(4);
    await page.getByLabel("Token").selectOption("USDT");
    await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
    await page.getByLabel("State").selectOption("Open");
    await page.waitForURL("**/quotes?token=usdt&status=open");
    await page.reload();
    await page.getByRole("cell", { name: "Jörg Muster-Beispiel" }).waitFor();
    await inspect(page, "quotes-filtered");
    await page.getByLabel("Until").fill("2020-01-31");
    await page.getByLabel("Until").press("Enter");
    await page.getByText("Nothing matches").waitFor();
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await expect.poll(() => page.locator("tbody tr").count()).toBe(4);
  });
});

test("onramps, coins and bank accounts are those of one person", { timeout: TEST_MS }, async () => {
  const [first, second] = business.user_ids;
  await stories.visit("accountant", NARROW, async (page) => {
    await page.goto(open(`deposits?user_id=${second}`));
    await page.getByText("Nothing matches").waitFor();
    await page.getByRole("tab", { name: "Coins" }).click();
    const row = page.locator("tbody tr").filter({ visible: true });
    await row.first().waitFor();
    for (const text of await row.allTextContents()) expect(text).toContain("Jörg");
    await page.goto(open(`deposits?tab=coins&from=2020-01-01&to=2020-01-31`));
    await page.getByRole("button", { name: "Clear the filters" }).click();
    await page.waitForURL("**/deposits?tab=coins");
    await page.goto(open(`bank-accounts?user_id=${first}&status=approved`));
    await row.first().waitFor();
    expect(await page.getByLabel("State").inputValue()).toBe("approved");
    for (const text of await row.allTextContents()) expect(text).toContain("Ana Sample");
    await inspect(page, "bank-accounts-filtered");
  });
});
