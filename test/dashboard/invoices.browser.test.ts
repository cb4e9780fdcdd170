import { afterAll, beforeAll, expect, test } from "vitest";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

let stories: Stories;

beforeAll(async () => {
  stories = await openStories(["finance_manager", "accountant"]);
});
afterAll(() => stories?.close());

test("an invoice is written, sent, and marked as paid", async () => {
  const { sliproad, server } = stories;
  await stories.visit(
    "finance_manager",
    WIDE,
    async (page) => {
      await page.goto(`${server.url}/dashboard/invoices`);
      await page.getByRole("link", { name: "New invoice" }).first().click();
      await page.getByRole("button", { name: "Send invoice" }).click();
      await page
        .getByRole("alert")
        .getByText(/^Correct \d+ marked fields\.$/)
        .waitFor();
      const number = page.getByLabel("Number", { exact: true });
      expect(await number.getAttribute("aria-invalid")).toBe("true");
      await number.fill("2026-0042");
      expect(await number.getAttribute("aria-invalid")).not.toBe("true");
      await page.getByLabel("E-mail of the buyer").fill("accounts@buyer.example");
      await page.getByLabel("Holder").fill("Seller Sample Inc");
      await page.getByLabel("IBAN").last().fill("DE89370400440532013000");
      await page.getByLabel("What").fill("Consulting");
      await page.getByLabel("Tax %").fill("20");
      await page.getByLabel("Price").fill("1,234");
      await page.getByText("Write it as 1234.5 or 1234,5.").waitFor();
      await page.getByLabel("Price").fill("99,9");
      await page.getByText("119.88").waitFor();
      await page.getByRole("button", { name: "Send invoice" }).click();
      await page.getByRole("heading", { name: /2026-0042/ }).waitFor();
      await inspect(page, "invoice");
      expect(await page.getByText("accounts@buyer.example", { exact: true }).count()).toBe(1);
      await page.getByRole("button", { name: "Payment arrived" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Payment arrived" }).click();
      await page.getByText("The seller says it is paid").waitFor();
    },
    /status of 400/,
  );
  const { records } = await sliproad.invoices.list().page();
  expect(records).toMatchObject([{ invoiceNumber: "2026-0042", total: "11988", status: "paid" }]);
});

test("an accountant sees invoices and changes none", async () => {
  const { url } = stories.server;
  await stories.visit("accountant", NARROW, async (page) => {
    await page.goto(`${url}/dashboard/invoices`);
    const listed = page.getByRole("row").filter({ hasText: "2026-0042" });
    await listed.waitFor();
    await inspect(page, "invoices");
    expect(await page.getByRole("link", { name: "New invoice" }).count()).toBe(0);
    await listed.click();
    await page.getByRole("heading", { name: /2026-0042/ }).waitFor();
    const buttons = await page.locator(".detail-actions").getByRole("button").allTextContents();
    expect(buttons).toEqual(["PDF"]);
  });
});

test("an invoice is found by its number, by what is typed right after Ctrl-K too", async () => {
  const { url } = stories.server;
  await stories.visit("accountant", WIDE, async (page) => {
    await page.goto(`${url}/dashboard/invoices?search=nothing`);
    await page.getByText("Nothing matches").first().waitFor();
    await page.getByLabel("Search invoices").fill("2026-0042");
    await page.getByRole("row").filter({ hasText: "2026-0042" }).waitFor();

    await page.keyboard.press("Control+k");
    await page.keyboard.type("2026-0042");
    const found = page.getByRole("option", { name: "Invoice 2026-0042" });
    await found.waitFor();
    await found.click();
    await page.getByRole("heading", { name: /2026-0042/ }).waitFor();
  });
});
