import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Sliproad } from "../../sdk/src/index.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { signInMember } from "./dashboard-server.ts";

const SETTLED_MS = 30_000;
const ALL_PAGES_MS = 300_000;
const SCRIPT_BYTES_MAX = 250_000;
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 360, height: 740 };

let server: TestServer;
let browser: Browser;
let context: BrowserContext;
let person_path: string;

beforeAll(async () => {
  server = await startTestServer();
  const { account_id, url, key } = server;
  const sample = await createSampleBusiness(new Sliproad({ baseUrl: url, apiKey: key }));
  person_path = `/dashboard/people/${sample.user_ids[0]}`;
  const email = "admin@example.test";
  const { visitor } = await signInMember(server, { account_id, role: "admin", email });
  browser = await openBrowser();
  context = await browser.newContext();
  await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url })));
});
afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

/** A page is there when it has its heading and nothing of it is being loaded. */
async function settle(page: Page, name: string): Promise<void> {
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  const busy = page.locator("[aria-busy=true]");
  await expect.poll(() => busy.count(), { timeout: SETTLED_MS }).toBe(0);
}

it("loads less than 250 kB of compressed script to show the overview", async () => {
  const page = await context.newPage();
  const scripts: string[] = [];
  page.on("response", (response) => {
    if (response.request().resourceType() === "script") scripts.push(response.url());
  });
  await page.goto(`${server.url}/dashboard/overview`);
  await settle(page, "Overview");
  await page.close();
  const headers = { "accept-encoding": "br" };
  const sizes = await Promise.all(
    scripts.map(async (url) => {
      const path = new URL(url).pathname;
      const answer = await server.app.server.inject({ url: path, headers });
      return answer.headers["content-encoding"] === "br" ? answer.rawPayload.length : Infinity;
    }),
  );
  expect(sizes.length).toBeGreaterThan(0);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(SCRIPT_BYTES_MAX);
});

it("shows every page of the menu, wide and light, narrow and dark, without barriers", {
  timeout: ALL_PAGES_MS,
}, async () => {
  const page = await context.newPage();
  page.setDefaultTimeout(SETTLED_MS);
  const errors = watchErrors(page);
  await page.setViewportSize(WIDE);
  await page.goto(`${server.url}/dashboard/overview`);
  await settle(page, "Overview");
  const links = page.getByRole("navigation", { name: "Main" }).locator("a");
  const linked = await links.evaluateAll((all) =>
    all.map((one) => ({ name: one.textContent ?? "", path: one.getAttribute("href") ?? "" })),
  );
  const entries = linked.filter(({ name }) => name !== "Settings");
  entries.push(
    { name: "Apps", path: "/dashboard/settings/developer/apps" },
    { name: "API keys", path: "/dashboard/settings/developer/keys" },
    { name: "Team", path: "/dashboard/settings/team" },
    { name: "Security", path: "/dashboard/settings/security" },
    { name: "Audit log", path: "/dashboard/settings/audit" },
    { name: "New invoice", path: "/dashboard/invoices/new" },
    { name: "Batches", path: "/dashboard/payouts/batches" },
    { name: "New batch", path: "/dashboard/payouts/batches/new" },
    { name: "Deposits", path: "/dashboard/deposits?tab=unmatched" },
    { name: "Ledger", path: "/dashboard/ledger?tab=journal" },
    { name: "Ledger", path: "/dashboard/ledger?tab=checks" },
    { name: "Ana Sample", path: person_path },
  );
  const wrong: string[] = [];
  const seen: string[] = [];
  for (const { name, path } of entries) {
    await page.goto(server.url + path);
    if ((await page.locator("#session").count()) === 0) continue;
    await settle(page, name);
    seen.push(name);
    for (const [size, colorScheme] of [
      [WIDE, "light"],
      [NARROW, "dark"],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(size);
      if (await scrollsSideways(page)) wrong.push(`${name} scrolls sideways at ${size.width} px`);
      wrong.push(...(await findBarriers(page)).map((one) => `${name}, ${colorScheme}: ${one}`));
      await takeShot(page, `dashboard-${seen.length}-${name}-${size.width}`);
    }
  }
  expect(seen).toEqual(expect.arrayContaining(["Overview", "Payouts", "Ana Sample", "Apps"]));
  expect(wrong).toEqual([]);
  expect(errors).toEqual([]);
});

it("a member of two accounts switches between them, and a developer lands on the settings", {
  timeout: ALL_PAGES_MS,
}, async () => {
  const email = "two@example.test";
  const other = await server.addAccount("Northern Lights Trading");
  const { account_id, url } = server;
  await signInMember(server, { account_id, role: "admin", email });
  const role = "developer";
  const { visitor } = await signInMember(server, { account_id: other.account_id, role, email });
  const own = await browser.newContext({ viewport: NARROW });
  await own.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url })));
  const page = await own.newPage();
  page.setDefaultTimeout(SETTLED_MS);
  const account = page.locator(".bar-account");
  const switchTo = async (name: string) => {
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await page.getByRole("button", { name: email }).click();
    await page.getByRole("menuitemradio", { name: "Dark" }).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("menuitemradio", { name }).click();
    await account.filter({ hasText: name }).waitFor();
  };
  await page.goto(`${url}/dashboard`);
  const names = ["Northern Lights Trading", "demo"];
  if ((await account.textContent()) === names[0]) names.reverse();
  for (const name of names) await switchTo(name);
  if (names[1] === "demo") await switchTo("Northern Lights Trading");
  await page.waitForURL("**/dashboard/settings/**");
  await page.getByRole("heading", { level: 1 }).waitFor();
  await own.close();
});
