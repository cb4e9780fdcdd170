import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSampleBusiness } from "../harness/sample-business.ts";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

let stories: Stories;
let bounced_id: string;

beforeAll(async () => {
  stories = await openStories(["admin", "accountant"]);
  const { sliproad } = stories;
  await createSampleBusiness(sliproad);
  const { records } = await sliproad.offramps.listAll({ status: "bounced" }).page();
  bounced_id = records[0]!.id;
  const invoice = new Blob(["%PDF-1.7 an invented invoice"], { type: "application/pdf" });
  await sliproad.offramps.documents.upload(bounced_id, invoice, { file_name: "invoice.pdf" });
});
afterAll(() => stories?.close());

describe("payouts in the dashboard", () => {
  test.each([WIDE, NARROW])("the list and a payout, $width $colorScheme", async (look) => {
    await stories.visit("accountant", look, async (page) => {
      await page.goto(`${stories.server.url}/dashboard/payouts`);
      await page.getByRole("row").nth(1).waitFor();
      await inspect(page, `payouts-${look.width}`);
      await page.goto(`${stories.server.url}/dashboard/payouts/${bounced_id}`);
      await page.getByText("The bank sent the money back").waitFor();
      await inspect(page, `payout-${look.width}`);
      // An accountant sees everything and can change nothing.
      const buttons = await page.locator("main").getByRole("button").allTextContents();
      expect(buttons.filter((text) => text !== "")).toEqual(["Show the PDF"]);
      await page.getByRole("tab", { name: "Ledger lines" }).click();
      const panel = page.getByRole("tabpanel");
      await panel.getByText("Adds up to 0").first().waitFor();
      expect(await panel.getByText("Does not add up").count()).toBe(0);
      const saved = page.waitForEvent("download");
      await panel.getByRole("button", { name: "Download CSV" }).click();
      const file = await readFile(await (await saved).path(), "utf8");
      expect(file).toContain("booked_at,posting,ledger_account,currency,amount");
      expect(file.split("\r\n").length).toBeGreaterThan(4);
      await inspect(page, `payout-ledger-${look.width}`);
    });
  });

  test("filters are in the URL, make a view, and vanished ones are left out", async () => {
    await stories.visit("accountant", WIDE, async (page) => {
      await page.goto(`${stories.server.url}/dashboard/payouts`);
      await page.getByRole("button", { name: "Filters" }).click();
      await page.getByLabel("Currency").selectOption("EUR");
      await page.getByLabel("Held because of").selectOption("its document");
      await page.waitForURL("**/payouts?currency=eur&held_by=document");
      await page.getByLabel("Amount from").fill("1800,50");
      await page.getByLabel("Amount from").press("Enter");
      await page.getByText("At least 1\u202f800.50 EUR").waitFor();
      await expect.poll(() => page.locator("tbody tr").count()).toBe(2);
      await inspect(page, "payout-filters");
      await page.getByRole("button", { name: "Views" }).click();
      await page.getByRole("menuitem", { name: "Save this view" }).click();
      await page.getByLabel("Name of the view").fill("Large without document");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      // It follows the member, not the browser.
      await page.evaluate("localStorage.clear()");
      await page.goto(`${stories.server.url}/dashboard/payouts?colour=blue`);
      await page.getByText("filters that do not exist any more").waitFor();
      await page.getByRole("button", { name: "Views" }).click();
      await page.getByRole("menuitem", { name: "Large without document", exact: true }).click();
      await page.getByText("At least 1\u202f800.50 EUR").waitFor();
      await page.getByRole("button", { name: "Clear all" }).click();
      await page.waitForURL("**/dashboard/payouts");
      await page.getByRole("button", { name: "Views" }).click();
      await page.getByRole("menuitem", { name: "Delete the view Large" }).press("Enter");
      await page.getByRole("button", { name: "Views" }).click();
      await page.getByText("No view is saved yet").waitFor();
    });
  });

  test("one that came back is sent to another account", async () => {
    await stories.visit("admin", WIDE, async (page) => {
      await page.goto(`${stories.server.url}/dashboard/payouts`);
      await page.getByRole("tab", { name: "Came back" }).click();
      await page.waitForURL("**/payouts?status=bounced");
      const row = page.locator("tbody tr").nth(0);
      // A new tab can be opened by the name, and the row by a click.
      const link = row.getByRole("link").first();
      expect(await link.getAttribute("href")).toBe(`/dashboard/payouts/${bounced_id}`);
      await row.getByText("Came back").click();
      await page.waitForURL(`**/payouts/${bounced_id}`);
      await page.getByRole("button", { name: "Send to another account" }).click();
      const dialog = page.getByRole("dialog", { name: "Send to another account" });
      const send = dialog.getByRole("button", { name: "Send again" });
      expect(await send.isDisabled()).toBe(true);
      await dialog.getByRole("combobox").click();
      await page.getByRole("option", { name: /Zoë Beispiel/ }).click();
      const target = dialog.getByRole("region", { name: "Goes to" });
      await target.getByText("DE02 3002 0900 0106 5310 65").waitFor();
      expect(await send.isDisabled()).toBe(true);
      await dialog.getByLabel("Reason").fill("The old account is closed");
      await inspect(page, "payout-reroute");
      const answered = page.waitForResponse((answer) => answer.url().endsWith("/reroute"));
      await send.click();
      expect((await answered).status()).toBe(200);
      await dialog.waitFor({ state: "detached" });
      await page.getByRole("heading", { name: /to Zoë Beispiel/ }).waitFor();
      await page.getByText("admin@example.test", { exact: true }).nth(1).waitFor();
      const timeline = page.getByRole("list", { name: "Timeline, newest first" });
      await timeline.getByText("Attempt 2 to pay").waitFor();
      const told = await timeline.textContent();
      for (const words of [
        ...["Attempt 1 to pay", "To Zoë Beispiel", "The old account is closed"],
        ...["The bank returned the payment", "arrived for the quote on Polygon", "Transaction"],
        "came back.",
      ]) {
        expect(told).toContain(words);
      }
      // Booked and returned at the same time: the newest first nevertheless.
      const places = ["Money back in the bank account", "Money left the bank account"].map(
        (words) => told!.indexOf(words),
      );
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(places[0]).toBeGreaterThan(0);
    });
    const { history } = (await stories.server.call("GET", `/records/${bounced_id}/history`)).body;
    expect(history.map((item: { who: string }) => item.who)).toContain(
      `member:${stories.members.get("admin")!.person_id}`,
    );
  });
});
