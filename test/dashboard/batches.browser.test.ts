import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Sliproad } from "../../sdk/src/index.ts";
import type { Role } from "../../src/accounts/model.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";
import { ibanAt, payoutFile } from "./payout-files.ts";

let server: TestServer;
let browser: Browser;
let sliproad: Sliproad;
let user_id: string;
const members = new Map<string, BrowserMember>();

beforeAll(async () => {
  const environment = {
    SLIPROAD_SECOND_FACTOR: "optional",
    SLIPROAD_APPROVAL_ABOVE_USD: "1000",
    SLIPROAD_DOCUMENTS: "never",
  };
  [server, browser] = await Promise.all([startTestServer({ environment }), openBrowser()]);
  sliproad = new Sliproad({ baseUrl: server.url, apiKey: server.key });
  const name = { first_name: "Ana", last_name: "Sample" };
  const email = "payer@example.test";
  const user = await sliproad.users.create({ beneficiary_type: "individual", email, ...name });
  user_id = user.id;
  await sliproad.sandbox.setKycStatus(user_id, "approved");
  const roles: [string, Role][] = [
    ["maker", "finance_manager"],
    ["checker", "approver"],
    ["second", "admin"],
  ];
  for (const [who, role] of roles) {
    const { account_id } = server;
    const address = `${who}@example.test`;
    members.set(who, await signInMember(server, { account_id, role, email: address }));
  }
});

afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

const WAIT_MS = 20_000;
/** Alone it takes half a minute. */
const STORY_MS = 300_000;
const PAID_MS = 60_000;

async function visit(
  who: string,
  look: { width: number; colorScheme: "light" | "dark" },
  story: (page: Page) => Promise<void>,
): Promise<void> {
  const { width, colorScheme } = look;
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const cookies = [...members.get(who)!.visitor.cookies];
  await context.addCookies(cookies.map(([name, value]) => ({ name, value, url: server.url })));
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  const errors = watchErrors(page);
  await story(page);
  expect(errors).toEqual([]);
  await context.close();
}

async function inspect(page: Page, name: string): Promise<void> {
  await takeShot(page, name);
  expect(await findBarriers(page)).toEqual([]);
  expect(await scrollsSideways(page)).toBe(false);
}

const WIDE = { width: 1280, colorScheme: "light" } as const;
const NARROW = { width: 360, colorScheme: "dark" } as const;

test(
  "a file of 200 payouts with three errors is repaired, executed, approved and paid",
  async () => {
    const { text, rows } = payoutFile();
    let batch_path = "";
    let quote_id = "";
    await visit("maker", WIDE, async (page) => {
      await page.goto(`${server.url}/dashboard/payouts`);
      await page.getByRole("link", { name: "New batch" }).click();
      await page.getByRole("combobox", { name: "Payer" }).click();
      await page.getByRole("option", { name: /Ana Sample/ }).click();
      const file = { name: "november.csv", mimeType: "text/csv", buffer: Buffer.from(text) };
      await page.locator('input[type="file"]').setInputFiles(file);
      await page.getByText(`${rows} rows`).first().waitFor();
      await inspect(page, "batch-columns");
      await page.getByRole("button", { name: `Check ${rows} rows` }).click();
      const counts = page.getByRole("status").filter({ hasText: "ready" });
      await counts.filter({ hasText: "3 errors" }).waitFor();
      await counts.filter({ hasText: `${rows - 3} ready` }).waitFor();
      batch_path = new URL(page.url()).pathname;
      await inspect(page, "batch-errors");
      const create = page.getByRole("button", { name: "Create payouts" });
      expect(await create.isDisabled()).toBe(true);

      await page.getByRole("textbox", { name: "IBAN of row 22" }).fill(ibanAt(20));
      await page.keyboard.press("Enter");
      await counts.filter({ hasText: "2 errors" }).waitFor();
      await page.getByRole("textbox", { name: "City of row 102" }).fill("Berlin");
      await page.keyboard.press("Enter");
      await counts.filter({ hasText: "1 error" }).waitFor();
      await page.getByRole("textbox", { name: "Amount of row 182" }).fill("279.50");
      await page.keyboard.press("Enter");
      await counts.filter({ hasText: "No errors" }).waitFor();
      await counts.filter({ hasText: "200 ready" }).filter({ hasText: "40" }).waitFor();
      await create.click();
      const dialog = page.getByRole("dialog", { name: "Create 200 payouts" });
      await inspect(page, "batch-create");
      await dialog.getByRole("button", { name: "Create 200 payouts" }).click();
      await page.waitForURL("**/dashboard/quotes/*");
      quote_id = page.url().split("/").at(-1)!;
      await page.getByRole("button", { name: "Name the transfer" }).click();
      await page.getByRole("button", { name: "Sandbox: invent a transfer" }).click();
      await page.getByRole("button", { name: "Pay 200 payees" }).click();
      const paying = page.getByRole("dialog");
      await paying.getByText("other members must confirm this first").waitFor();
      await paying.getByRole("button", { name: "Close" }).last().click();
      await paying.waitFor({ state: "detached" });
    });
    const executed = await sliproad.quotes.show(user_id, quote_id);
    expect(executed.approval?.status).toBe("pending");
    await visit("maker", WIDE, async (page) => {
      await page.goto(`${server.url}/dashboard/approvals`);
      await page.getByText("You asked for this; someone else decides.").waitFor();
      await page.getByRole("button", { name: /^Approve/ }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
      await page.getByText("Nothing waits for you").waitFor();
      await page.getByRole("tab", { name: "All waiting (1)" }).click();
      await page.getByText("You have confirmed this").waitFor();
    });
    await visit("checker", NARROW, async (page) => {
      await page.goto(`${server.url}/dashboard/approvals`);
      await page.getByText("Ana Sample").waitFor();
      await inspect(page, "approvals-360");
      await page.getByRole("link", { name: "All payouts, with new payees" }).click();
      await page.getByText("Never paid before").first().waitFor();
      await inspect(page, "approval-payouts-360");
      await page.getByRole("link", { name: "‹ Approvals" }).click();
      await page.getByRole("button", { name: /^Approve/ }).click();
      const dialog = page.getByRole("dialog", { name: "Approve" });
      await inspect(page, "approval-360");
      await dialog.getByRole("button", { name: "Approve" }).click();
      await page.getByText("Nothing waits for you").waitFor();
      await page.getByRole("tab", { name: "Decided" }).click();
      await page.getByText("checker@example.test confirmed").waitFor();
    });
    await visit("maker", WIDE, async (page) => {
      await page.goto(`${server.url}/dashboard/quotes/${quote_id}`);
      await page
        .getByRole("heading", { name: "200 of 200 finished" })
        .waitFor({ timeout: PAID_MS });
      await inspect(page, "batch-paid");
    });
    const states: string[] = [];
    for await (const { status } of sliproad.offramps.listAll({ quote_id, limit: 100 })) {
      states.push(status);
    }
    expect(states).toEqual(Array(rows).fill("fiat_sent"));
    await visit("maker", NARROW, async (page) => {
      // What is created is a quote; the file leads there.
      await page.goto(`${server.url}${batch_path}`);
      await page.waitForURL(`**/dashboard/quotes/${quote_id}`);
      await page.goto(`${server.url}/dashboard/payouts/batches`);
      await page.getByText("november.csv").waitFor();
      await inspect(page, "batches-360");
    });
  },
  STORY_MS,
);
