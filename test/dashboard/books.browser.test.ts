import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addOwedUser, proposalIn, STRANGE } from "../approvals/proposal-fixture.ts";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

const STORY_MS = 120_000;

let stories: Stories;

beforeAll(async () => {
  stories = await openStories(["admin", "approver", "accountant"]);
  await createSampleBusiness(stories.sliproad);
}, STORY_MS);
afterAll(() => stories?.close());

describe.each([WIDE, NARROW])("$width $colorScheme", (look) => {
  test("the journal is filtered, and leads to what an entry is about", async () => {
    await stories.visit("accountant", look, async (page) => {
      await page.goto(`${stories.server.url}/dashboard/ledger?tab=journal`);
      const rows = page.getByRole("table", { name: "Journal, newest first" }).locator("tbody tr");
      await rows.first().waitFor();
      await inspect(page, `journal-${look.width}`);
      await page.getByRole("combobox", { name: "Ledger account" }).fill("Fees");
      await page.getByRole("option", { name: "Fees" }).click();
      await page.waitForURL("**/ledger?tab=journal&ledger_account=fees");
      const lines = rows.first().locator("dt").filter({ hasText: "Fees" });
      await lines.waitFor();
      await rows.first().getByRole("link").click();
      await page.waitForURL(/\/dashboard\/payouts\/[0-9a-f-]{36}$/);
      await page.goto(`${stories.server.url}/dashboard/ledger?tab=journal&currency=xxx`);
      await page.getByRole("button", { name: "Clear the filters" }).click();
      await rows.first().waitFor();
    });
  });

  test("a check of all books is started, and its result shown", async () => {
    await stories.visit("accountant", look, async (page) => {
      await page.goto(`${stories.server.url}/dashboard/ledger?tab=checks`);
      const before = (await stories.members.get("accountant")!.call("GET", BOOKS)).json();
      await page.getByRole("button", { name: "Verify now" }).click();
      const last = async () =>
        (await stories.members.get("accountant")!.call("GET", BOOKS)).json().verification?.id;
      await expect.poll(last, { timeout: 20_000 }).not.toBe(before.verification?.id);
      await page.getByText(/Every log, record and sum of \d+ accounts? was recomputed/).waitFor();
      await page.getByRole("button", { name: "Verify now" }).waitFor();
      await inspect(page, `checks-${look.width}`);
    });
  });

  test("approvals are read by who asked, and decided ones keep their details", async () => {
    const user = await addOwedUser(stories.server, 500);
    const { id } = proposalIn(await user.refund(25, STRANGE));
    await stories.visit("approver", look, async (page) => {
      await page.goto(`${stories.server.url}/dashboard/approvals`);
      const card = page.getByRole("region", { name: /Refund 25\.00 USDC/ }).first();
      await card.getByText(STRANGE).waitFor();
      await inspect(page, `approvals-mine-${look.width}`);
      const reason = "Nobody knows this address";
      const path = `/dashboard/api/approvals/${id}/votes`;
      await stories.members.get("approver")!.call("POST", path, { verdict: "reject", reason });
      await page.getByRole("tab", { name: "Decided" }).click();
      await page.getByText(reason).first().waitFor();
      await card.getByText(STRANGE).waitFor();
      await inspect(page, `approvals-decided-${look.width}`);
    });
  });
});

const BOOKS = "/dashboard/api/books";
