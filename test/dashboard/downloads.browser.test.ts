import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../../src/platform/ids.ts";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { openStories, type Stories, WIDE } from "./browser-stories.ts";

const TEST_MS = 120_000;

let stories: Stories;

beforeAll(async () => {
  stories = await openStories(["admin"]);
  await createSampleBusiness(stories.sliproad);
}, TEST_MS);
afterAll(() => stories?.close());

/** The lines of the file that a button of the page saves. */
async function download(page: Page, path: string, button: string): Promise<string[]> {
  await page.goto(`${stories.server.url}/dashboard/${path}`);
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: button }).first().click();
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
