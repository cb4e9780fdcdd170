import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PATHS, type PageName, SETTINGS, type SectionName } from "../../dashboard/src/app/paths.ts";
import { Sliproad } from "../../sdk/src/index.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { createRecords, type RecordIds } from "../harness/records.ts";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";
import { ibanAt } from "./payout-files.ts";

const SETTLED_MS = 30_000;
const ALL_PAGES_MS = 300_000;
const SCRIPT_BYTES_MAX = 250_000;
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 360, height: 740 };

let server: TestServer;
let browser: Browser;
let context: BrowserContext;
let records: RecordIds & { batch_id: string; request_id: string };

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "optional" } });
  const { account_id, url, key } = server;
  await createSampleBusiness(new Sliproad({ baseUrl: url, apiKey: key }));
  const email = "admin@example.test";
  const admin = await signInMember(server, { account_id, role: "admin", email });
  const found = await createRecords(server, key);
  await addSend(server);
  const batch_id = await addBatch(admin, found.user_id);
  const request_id = await waitFor(async () => {
    const { requests } = (await admin.call("GET", "/dashboard/api/requests")).json();
    return requests[0]?.id as string | undefined;
  });
  records = { ...found, batch_id, request_id };
  const { visitor } = admin;
  browser = await openBrowser();
  context = await browser.newContext();
  await context.addCookies([...visitor.cookies].map(([name, value]) => ({ name, value, url })));
}, ALL_PAGES_MS);
afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

/** A transaction that is not final. */
async function addSend({ core: { database, clock } }: TestServer): Promise<void> {
  const sender = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
  await database.query(
    `insert into evm_senders (chain, address, state, state_since)
     values ('polygon', $1, 'sending', $2)`,
    [sender, clock.now()],
  );
  await database.query(
    `insert into evm_sends (key, chain, sender, action, state, state_since, created_at, problem)
     values ('refund:of-somebody:1', 'polygon', $1, '{}', 'queued', $2, $2, 'no gas')`,
    [sender, clock.now()],
  );
}

async function addBatch(member: BrowserMember, user_id: string): Promise<string> {
  const terms = { deposit_token: "usdc", deposit_token_chain: "polygon" };
  const rows = [{ n: 1, cells: { account_name: "Payee", iban: ibanAt(1), amount: "-1" } }];
  const batch = { user_id, ...terms, file_name: "one.csv", file_hash: "7".repeat(64), rows };
  const answer = await member.call("POST", "/dashboard/api/batches", { batch });
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json().batch.id;
}

/** A page is there when it has its heading and nothing of it is being loaded. */
async function settle(page: Page, name: string | RegExp = /./): Promise<void> {
  await page.getByRole("heading", { level: 1, name, exact: true }).first().waitFor();
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

/** What is opened of each page: a page that is new has to be added here. */
const VISITS: Readonly<Record<PageName, (ids: typeof records) => string[]>> = {
  overview: () => [""],
  batches: ({ batch_id }) => ["", "/new", `/${batch_id}`],
  payouts: ({ offramp_id }) => ["", "?status=bounced", `/${offramp_id}`],
  documents: ({ offramp_id }) => ["", "?tab=rejected", `/${offramp_id}`],
  quotes: ({ quote_id }) => ["", "?status=open", `/${quote_id}`],
  deposits: ({ onramp_id }) => [
    ...["", "?tab=coins", "?tab=unmatched", "?tab=exceptions", "?tab=sends", `/${onramp_id}`],
  ],
  reviews: ({ user_id }) => ["", "?status=approved", `/${server.account_id}/${user_id}`],
  bank_accounts: () => ["", "/new"],
  people: ({ user_id }) => ["", `/${user_id}`],
  approvals: ({ proposal_id }) => ["", "?tab=all", "?tab=decided", `/${proposal_id}`],
  ledger: () => ["", "?tab=journal", "?tab=checks"],
  settings: () => [""],
  invoices: ({ invoice_id }) => ["", "/new", `/${invoice_id}`],
};
const SECTION_VISITS: Readonly<Record<SectionName, (ids: typeof records) => string[]>> = {
  team: () => [""],
  security: () => [""],
  audit: () => [""],
  apps: ({ app_id }) => ["", `/${app_id}`],
  keys: () => [""],
  logs: ({ request_id }) => ["", `/${request_id}`],
};

/** The part of a path before its parameters. */
const baseOf = (pattern: string) => pattern.replace(/\/[:*].*$/, "");

function pathsToVisit(): string[] {
  const pages = Object.entries(PATHS).flatMap(([name, pattern]) => {
    const visited = VISITS[name as PageName](records);
    // Whatever can follow the path, a page with it is seen as well.
    const depth = pattern.split("/:").length - 1;
    const deepest = Math.max(...visited.map((rest) => rest.split("/").length - 1));
    expect(deepest, `the parameters of ${pattern}`).toBe(depth);
    return visited.map((rest) => `/dashboard${baseOf(pattern)}${rest}`);
  });
  const sections = Object.entries(SETTINGS).flatMap(([name, { path }]) =>
    SECTION_VISITS[name as SectionName](records).map((rest) => `/dashboard${path}${rest}`),
  );
  return [...pages, ...sections];
}

const LOOKS = [
  [WIDE, "light"],
  [NARROW, "dark"],
] as const;

it("shows every page, wide and light, narrow and dark, without barriers", {
  timeout: ALL_PAGES_MS,
}, async () => {
  const page = await context.newPage();
  page.setDefaultTimeout(SETTLED_MS);
  const errors = watchErrors(page);
  await page.setViewportSize(WIDE);
  await page.goto(`${server.url}/dashboard/overview`);
  await settle(page, "Overview");
  const links = page.getByRole("navigation", { name: "Main" }).locator("a");
  // Some lead to pages outside of this program.
  const linked = await links.evaluateAll((all) => all.map((one) => one.getAttribute("href") ?? ""));
  expect(linked).toEqual(expect.arrayContaining(["/dashboard/screening", "/dashboard/outbox"]));
  const paths = new Set([...linked, ...pathsToVisit()]);
  const wrong: string[] = [];
  for (const [at, path] of [...paths].entries()) {
    await page.goto(server.url + path);
    await settle(page);
    for (const text of ["This could not be shown", "There is no such page", "You cannot see"]) {
      if ((await page.getByText(text).count()) > 0) wrong.push(`${path}: ${text}`);
    }
    for (const [size, colorScheme] of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(size);
      // Colours change by and by.
      await page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished))");
      if (await scrollsSideways(page)) wrong.push(`${path} scrolls sideways at ${size.width} px`);
      wrong.push(...(await findBarriers(page)).map((one) => `${path}, ${colorScheme}: ${one}`));
      const name = path.replaceAll(/[0-9a-f-]{36}/g, "id").replaceAll(/\W+/g, "-");
      await takeShot(page, `page-${String(at).padStart(2, "0")}${name}-${size.width}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(errors).toEqual([]);
});

it("charts are read as tables with the keyboard, and say which days they do not count", {
  timeout: ALL_PAGES_MS,
}, async () => {
  const page = await context.newPage();
  await page.setViewportSize(NARROW);
  await page.route("**/dashboard/api/overview?*", async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    await route.fulfill({ response, json: { ...json, uncounted_until: `${json.today}T01:00Z` } });
  });
  await page.goto(`${server.url}/dashboard/overview`);
  await page.getByText("Only the newest 5\u202f000 are counted").waitFor();
  await page.getByRole("listitem").filter({ hasText: "Not counted" }).waitFor();
  for (const name of ["Payouts by day and outcome, EUR", "Money in and out by day, EUR"]) {
    await page.getByRole("img", { name }).waitFor();
    await page.getByRole("button", { name: `Show as table: ${name}` }).press("Enter");
    await page.getByRole("table", { name }).waitFor();
  }
  await page.getByRole("row").filter({ hasText: "not counted in full" }).waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download CSV" }).last().press("Enter");
  const file = await (await download).createReadStream();
  const text = (await file.toArray()).join("");
  expect(text).toMatch(/^\ufeffday,currency,done,out\r\n\d{4}-\d\d-\d\d,eur,0,-\d/);
  expect(await findBarriers(page)).toEqual([]);
  expect(await scrollsSideways(page)).toBe(false);
  await page.close();
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
