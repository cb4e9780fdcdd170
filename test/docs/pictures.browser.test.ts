import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DAY_MS } from "../../src/platform/durations.ts";
import { openStories, type Stories } from "../dashboard/browser-stories.ts";
import { ibanAt } from "../dashboard/payout-files.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { createSampleBusiness, type SampleBusiness } from "../harness/sample-business.ts";

/**
 * Takes the pictures of the README and of the guide to the dashboard. `SLIPROAD_PICTURES` names
 * the directory that they are written to: `docs/pictures`.
 */
const SIZE = { width: 1280, colorScheme: "light" } as const;
const HEIGHT = 900;
const STORY_MS = 300_000;
/** Payouts of the days before, in euros. */
const DAYS = [6400, 13_100, 20_500, 11_800, 15_300, 4200, 13_600, 22_700, 10_500];
const EVENTS = ["offramp_update", "onramp_update", "payment_detail_update"] as const;

let stories: Stories;
let receiver: Receiver;
let business: SampleBusiness;
let app_id: string;
let batch_id: string;

beforeAll(async () => {
  [stories, receiver] = await Promise.all([openStories(["admin"]), startReceiver()]);
  const { sliproad } = stories;
  await addDays();
  const { app } = await sliproad.apps.create({
    name: "Bookkeeping",
    webhook_url: receiver.url,
    events: [...EVENTS],
  });
  app_id = app.id;
  business = await createSampleBusiness(sliproad);
  await sliproad.sandbox.createDeposit({
    ...{ amount: 1255, currency: "usd", deposit_message: "as agreed" },
  });
  batch_id = await addBatch();
  await receiver.waitFor(EVENTS.length);
}, STORY_MS);
afterAll(async () => {
  await receiver?.close();
  await stories?.close();
});

async function addDays(): Promise<void> {
  const { sliproad } = stories;
  const user = await sliproad.users.create({
    ...{ beneficiary_type: "business", email: "pay@example.com", company_name: "Sample Payroll" },
  });
  await sliproad.sandbox.setKycStatus(user.id, "approved");
  const { id: payment_detail_id } = await sliproad.paymentDetails.create(user.id, {
    ...{ account_name: "Maria Sample", bank_name: "Sample Bank", currency: "eur", country: "DE" },
    ...{ iban: ibanAt(90), beneficiary_type: "business", address_line1: "12 Sample Street" },
    ...{ city: "Berlin", postal_code: "10115" },
  });
  await payIn(user.id);
  for (const amount of DAYS) {
    const terms = { deposit_token: "usdc", deposit_token_chain: "polygon" } as const;
    const { quote } = await sliproad.quotes.create(user.id, terms);
    const [payout] = await sliproad.offramps.create(user.id, quote.id, [
      {
        ...{ payment_detail_id, destination_amount: String(amount), destination_currency: "eur" },
        supporting_document_attributes: { submitted_url: "https://files.example.com/payroll.pdf" },
      },
    ]);
    await sliproad.sandbox.setOfframpStatus(payout!.id, "fiat_sent");
    await sliproad.sandbox.advanceClock(DAY_MS);
  }
}

/** Money for the payouts of these days. */
async function payIn(user_id: string): Promise<void> {
  const { sliproad } = stories;
  const onramp = await sliproad.onramps.create(user_id, {
    ...{ fiat_currency: "eur", fiat_rails: "local" },
    ...{ crypto_currency: "usdc", crypto_rails: "polygon", destination_amount: 160_000 },
    destination_address: `0x${"5".repeat(40)}`,
  });
  await sliproad.sandbox.createDeposit({
    ...{ amount: onramp.deposit_amount, currency: "eur" },
    deposit_message: onramp.deposit_instructions.deposit_message,
  });
}

/** Salaries, with a wrong amount and a wrong account number. */
async function addBatch(): Promise<string> {
  const names = ["Maria Sample", "Zoë Beispiel", "Tomas Priklad", "Ana Muster", "Ivo Sample"];
  const rows = names.map((account_name, at) => ({
    n: at + 2,
    cells: {
      ...{ account_name, bank_name: "Sample Bank", iban: at === 4 ? `${ibanAt(at)}0` : ibanAt(at) },
      ...{ amount: at === 3 ? "abc" : String(900 + at * 115.5), currency: "eur" },
      ...{ reference: `Salary ${at + 1}`, beneficiary_type: "business", country: "DE" },
      ...{ address_line1: "12 Sample Street", city: "Berlin", postal_code: "10115" },
    },
  }));
  const batch = {
    ...{ user_id: business.user_ids[0], deposit_token: "usdc", deposit_token_chain: "polygon" },
    ...{ file_name: "salaries.csv", file_hash: "7".repeat(64), rows },
  };
  const answer = await stories.members.get("admin")!.call("POST", "/dashboard/api/batches", {
    batch,
  });
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().batch.id;
}

const heading = (page: Page, name: string | RegExp) =>
  page.getByRole("heading", { level: 1, name }).waitFor();

/** What each picture shows, by its name. */
const PICTURES: Readonly<Record<string, (page: Page, url: string) => Promise<void>>> = {
  overview: async (page, url) => {
    await page.goto(`${url}/overview`);
    await page.getByRole("heading", { name: "Money in and out" }).waitFor();
  },
  quote: async (page, url) => {
    await page.goto(`${url}/quotes?user_id=${business.user_ids[1]}`);
    await page.locator("tbody tr").first().click();
    await heading(page, /USDC/);
  },
  batch: async (page, url) => {
    await page.goto(`${url}/payouts/batches/${batch_id}`);
    await page.getByText("2 errors").waitFor();
    await page.getByText("All", { exact: true }).click();
  },
  payout: async (page, url) => {
    // The third of each payer came back.
    await page.goto(`${url}/payouts/${business.offramp_ids[10]}`);
    await page.getByText("The bank sent the money back").waitFor();
  },
  match: async (page, url) => {
    await page.goto(`${url}/deposits?tab=unmatched`);
    await page.getByRole("row").filter({ hasText: "as agreed" }).getByRole("button").click();
    await page.getByRole("menuitem", { name: "Match" }).click();
    const dialog = page.getByRole("dialog", { name: "Match" });
    await dialog.getByText("exact", { exact: true }).waitFor();
    await dialog.getByRole("radio").first().click();
  },
  deliveries: async (page, url) => {
    await page.goto(`${url}/settings/developer/apps/${app_id}`);
    await page
      .getByRole("cell", { name: /HTTP 200/ })
      .first()
      .waitFor();
    await page.getByRole("heading", { name: "Delivery log" }).evaluate((one) => {
      one.scrollIntoView({ block: "center" });
    });
  },
};

test.each(Object.entries(PICTURES))(
  "the picture dashboard-%s can be taken",
  {
    timeout: STORY_MS,
  },
  async (name, open) => {
    await stories.visit("admin", SIZE, async (page) => {
      await page.setViewportSize({ width: SIZE.width, height: HEIGHT });
      await open(page, `${stories.server.url}/dashboard`);
      await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
      await page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished))");
      const directory = process.env.SLIPROAD_PICTURES;
      const path = directory && join(directory, `dashboard-${name}.png`);
      const picture = await page.screenshot(path ? { path } : {});
      expect(picture.length).toBeGreaterThan(0);
    });
  },
);

test("every picture of the dashboard that the documents show is one of these", () => {
  const guides = readdirSync("docs/guides").map((name) => join("docs/guides", name));
  const text = ["README.md", ...guides].map((path) => readFileSync(path, "utf8")).join("\n");
  const shown = [...text.matchAll(/pictures\/dashboard-(\w+)\.png/g)].map(([, name]) => name);
  expect(new Set(shown)).toEqual(new Set(Object.keys(PICTURES)));
});
