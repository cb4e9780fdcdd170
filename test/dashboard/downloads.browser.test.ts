import { readFile } from "node:fs/promises";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../../src/platform/ids.ts";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { openStories, type Stories, WIDE } from "./browser-stories.ts";

const TEST_MS = 120_000;
/** More than a page has. */
const APPROVALS = 60;

let stories: Stories;

beforeAll(async () => {
  stories = await openStories(["admin"]);
  await createSampleBusiness(stories.sliproad);
}, TEST_MS);
afterAll(() => stories?.close());

/** The lines of the file that a button of the page saves. */
async function download(page: Page, path: string, button: string): Promise<string[]> {
  await page.goto(`${stories.server.url}/dashboard/${path}`);
  return save(page, page.getByRole("button", { name: button }).first());
}

async function save(page: Page, button: Locator): Promise<string[]> {
  const waiting = page.waitForEvent("download");
  await button.click();
  const file = await (await waiting).path();
  return (await readFile(file, "utf8")).replace("\ufeff", "").trim().split("\r\n");
}

test.each([
  ["settings/team", "person_id,email,role", "admin@example.test"],
  ["settings/developer/keys", "name,", "first"],
  ["settings/security", "device,is_this,", "true"],
  ["ledger", "ledger_account,", "usdc"],
  ["settings/developer/logs", "method,path,", "POST,/users"],
])("%s is downloaded as a file", async (path, columns, text) => {
  await stories.visit("admin", WIDE, async (page) => {
    const [head = "", ...rows] = await download(page, path, "Download CSV");
    for (const column of columns.split(",").filter(Boolean)) {
      expect(head.split(",")).toContain(column);
    }
    expect(rows.join("\n")).toContain(text);
  });
});

test("approvals are downloaded to their end, not only those on the page", async () => {
  const { sliproad } = stories;
  const { records } = await sliproad.users.list({ limit: 1 }).page();
  const user_id = records[0]!.id;
  const { quote } = await sliproad.quotes.create(user_id, {
    deposit_token: "usdc",
    deposit_token_chain: "polygon",
  });
  await sliproad.sandbox.createCryptoDeposit({ quote_id: quote.id, amount: 900 });
  // Nobody knows these addresses: each refund needs two members.
  for (let at = 0; at < APPROVALS; at += 1) {
    const address = `0x${at.toString(16).padStart(40, "7")}`;
    const refund = { token: "usdc", chain: "polygon", amount: 10, address } as const;
    await sliproad.refunds.create(user_id, refund);
  }
  await stories.visit("admin", WIDE, async (page) => {
    const [head = "", ...rows] = await download(page, "approvals?tab=waiting", "Download CSV");
    expect(head.split(",")).toContain("summary");
    expect(rows).toHaveLength(APPROVALS);
  });
});

test("the chart of payouts is downloaded as the table that it is drawn from", async () => {
  await stories.visit("admin", WIDE, async (page) => {
    await page.goto(`${stories.server.url}/dashboard/overview`);
    const chart = page.locator(".chart").first();
    await chart.getByRole("button", { name: "Show as table" }).click();
    const days = await chart.locator("tbody tr").count();
    const [head, ...rows] = await save(page, chart.getByRole("button", { name: "Download CSV" }));
    expect(head).toMatch(/^day,currency,/);
    expect(rows).toHaveLength(days);
    expect(rows[0]).toMatch(/^\d{4}-\d{2}-\d{2},[a-z]{3},/);
  });
});

test("what the books were compared with is downloaded", async () => {
  await stories.server.core.database.query(
    `insert into chain_reconciliations (chain, currency, block_number, at, unexplained)
     values ('polygon', 'usdc', 7, now(), 1500000)`,
  );
  await stories.visit("admin", WIDE, async (page) => {
    const [head, row] = await download(page, "ledger?tab=checks", "Download CSV");
    expect(head!.split(",")).toEqual(expect.arrayContaining(["chain", "currency", "difference"]));
    expect(row).toContain("1.5");
  });
});

test("each line of a journal entry is a row of the file", async () => {
  const { records: entries } = await stories.sliproad.ledger.listEntries({ limit: 100 }).page();
  await stories.visit("admin", WIDE, async (page) => {
    const [head, ...rows] = await download(page, "ledger?tab=journal", "Download CSV");
    for (const name of ["kind", "ledger_account", "amount", "currency"]) {
      expect(head!.split(",")).toContain(name);
    }
    const lines = entries.flatMap((entry) => entry.lines);
    expect(rows.length).toBeGreaterThanOrEqual(lines.length);
    const [first] = lines;
    expect(rows[0]).toContain(first!.ledger_account);
    expect(rows.join("\n")).not.toContain("[");
  });
});

test("the whole audit log is exported", { timeout: TEST_MS }, async () => {
  const { core, account_id } = stories.server;
  const now = core.clock.now();
  const ids = Array.from({ length: 10_050 }, () => newId(now));
  await core.database.query(
    `insert into audit_entries (account_id, id, at, actor, action, record, reason, detail)
     select $1, id, $3, 'worker', 'account.update', 'account:' || $1::uuid, '', '{}'
     from unnest($2::uuid[]) as ids (id)`,
    [account_id, ids, now],
  );
  await stories.visit("admin", WIDE, async (page) => {
    const rows = await download(page, "settings/audit", "Export CSV");
    expect(rows.length).toBeGreaterThan(10_050);
  });
});
