import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Sliproad } from "../../sdk/src/index.ts";
import type { Role } from "../../src/accounts/model.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;
let browser: Browser;
let sliproad: Sliproad;
let bounced_id: string;
const members = new Map<Role, BrowserMember>();

beforeAll(async () => {
  const environment = { SLIPROAD_SECOND_FACTOR: "optional" };
  [server, browser] = await Promise.all([startTestServer({ environment }), openBrowser()]);
  sliproad = new Sliproad({ baseUrl: server.url, apiKey: server.key });
  await createSampleBusiness(sliproad);
  const { records } = await sliproad.offramps.listAll({ status: "bounced" }).page();
  bounced_id = records[0]!.id;
  const invoice = new Blob(["%PDF-1.7 an invented invoice"], { type: "application/pdf" });
  await sliproad.offramps.documents.upload(bounced_id, invoice, { file_name: "invoice.pdf" });
  for (const role of ["admin", "accountant"] as const) {
    const { account_id } = server;
    const email = `${role}@example.test`;
    members.set(role, await signInMember(server, { account_id, role, email }));
  }
});

afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

/** A page of the dashboard as a member sees it; it must not report errors. */
async function visit(
  role: Role,
  look: { width: number; colorScheme: "light" | "dark" },
  story: (page: Page) => Promise<void>,
): Promise<void> {
  const { width, colorScheme } = look;
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const cookies = [...members.get(role)!.visitor.cookies];
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

/** Less than a test has, so that what was waited for is named. */
const WAIT_MS = 15_000;
const WIDE = { width: 1280, colorScheme: "light" } as const;
const NARROW = { width: 360, colorScheme: "dark" } as const;

describe("payouts in the dashboard", () => {
  test.each([WIDE, NARROW])("the list and a payout, $width $colorScheme", async (look) => {
    await visit("accountant", look, async (page) => {
      await page.goto(`${server.url}/dashboard/payouts`);
      await page.getByRole("row").nth(1).waitFor();
      await inspect(page, `payouts-${look.width}`);
      await page.goto(`${server.url}/dashboard/payouts/${bounced_id}`);
      await page.getByText("The bank sent the money back").waitFor();
      await inspect(page, `payout-${look.width}`);
      // An accountant sees everything and can change nothing.
      const buttons = await page.locator("main").getByRole("button").allTextContents();
      expect(buttons.filter((text) => text !== "")).toEqual(["Show the PDF"]);
      await page.getByRole("tab", { name: "Ledger lines" }).click();
      const panel = page.getByRole("tabpanel");
      await panel.getByText("Adds up to 0").first().waitFor();
      expect(await panel.getByText("Does not add up").count()).toBe(0);
      await inspect(page, `payout-ledger-${look.width}`);
    });
  });

  test("one that came back is sent to another account", async () => {
    await visit("admin", WIDE, async (page) => {
      await page.goto(`${server.url}/dashboard/payouts`);
      await page.getByRole("tab", { name: "Came back" }).click();
      await page.waitForURL("**/payouts?status=bounced");
      await page.locator("tbody tr").nth(0).click();
      await page.waitForURL(`**/payouts/${bounced_id}`);
      await page.getByRole("button", { name: "Send to another account" }).click();
      const dialog = page.getByRole("dialog", { name: "Send to another account" });
      const send = dialog.getByRole("button", { name: "Send again" });
      expect(await send.isDisabled()).toBe(true);
      await dialog.getByRole("combobox").click();
      await page.getByRole("option", { name: /Zoë Beispiel/ }).click();
      const target = dialog.getByRole("region", { name: "Goes to" });
      await target.getByText("DE02 3002 0900 0106 5310 65").waitFor();
      await inspect(page, "payout-reroute");
      const answered = page.waitForResponse((answer) => answer.url().endsWith("/reroute"));
      await send.click();
      expect((await answered).status()).toBe(200);
      await dialog.waitFor({ state: "detached" });
      await page.getByRole("heading", { name: /to Zoë Beispiel/ }).waitFor();
      await page.getByText("admin@example.test", { exact: true }).nth(1).waitFor();
    });
    const { history } = (await server.call("GET", `/records/${bounced_id}/history`)).body;
    expect(history.map((item: { who: string }) => item.who)).toContain(
      `member:${members.get("admin")!.person_id}`,
    );
  });
});
