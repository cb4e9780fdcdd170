import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newUser } from "../harness/records.ts";
import { inspect, openStories, type Stories, WIDE } from "./browser-stories.ts";
import { ibanAt } from "./payout-files.ts";

const MESSAGE = "The database is busy.";

/** It creates a hundred accounts first. */
const STORY = { timeout: 120_000 };

let stories: Stories;
let user_id: string;

beforeAll(async () => {
  stories = await openStories(["admin"]);
  user_id = await addPerson("ana@example.test");
  await stories.sliproad.sandbox.setKycStatus(user_id, "approved");
});
afterAll(() => stories?.close());

async function addPerson(email: string): Promise<string> {
  const user = { ...newUser().user, email };
  return (await stories.server.call("POST", "/users", { user })).body.user.id;
}

/** From now on these requests of the page are refused. */
async function refuse(page: Page, path: RegExp): Promise<void> {
  const json = { message: MESSAGE, error_code: "record_invalid", errors: [] };
  await page.route(path, (route) => route.fulfill({ status: 422, json }));
}

const open = (page: Page, path: string) => page.goto(`${stories.server.url}/dashboard/${path}`);

test("a list that cannot be read again keeps its rows and says so", async () => {
  await stories.visit("admin", WIDE, async (page) => {
    await open(page, "people");
    await page.getByText("ana@example.test").waitFor();
    await refuse(page, /\/users\?/);
    await addPerson("bea@example.test");
    const notice = page.getByRole("alert").filter({ hasText: "This is not up to date" });
    await notice.getByText(MESSAGE).waitFor();
    expect(await page.getByText("ana@example.test").count()).toBe(1);
    await inspect(page, "list-not-up-to-date");
    await page.unroute(/\/users\?/);
    await notice.getByRole("button", { name: "Try again" }).click();
    await page.getByText("bea@example.test").waitFor();
    expect(await notice.count()).toBe(0);
  });
});

test("a choice of people or accounts says that it could not be read", async () => {
  const terms = { deposit_token: "usdc", deposit_token_chain: "polygon" };
  const { quote } = await stories.sliproad.quotes.create(user_id, terms);
  await stories.visit("admin", WIDE, async (page) => {
    await refuse(page, /\/users\?|\/api\/search|\/payment_details\?|\/api\/batches\?/);
    await open(page, "payouts/batches/new");
    const card = page.getByRole("region", { name: "Batch" });
    await expect.poll(() => card.getByText(MESSAGE).count()).toBe(2);
    await open(page, `quotes/${quote.id}`);
    await page.getByRole("button", { name: "Add a payout" }).click();
    await page.getByRole("dialog").getByText(MESSAGE).waitFor();
  });
});

test("a file is deleted after a question; a corrected file without its rows is refused", async () => {
  const cells = { account_name: "Payee", currency: "eur", iban: ibanAt(1), amount: "x" };
  const batch = {
    ...{ user_id, deposit_token: "usdc", deposit_token_chain: "polygon" },
    ...{ file_name: "payouts.csv", file_hash: "7".repeat(64), rows: [{ n: 1, cells }] },
  };
  const admin = stories.members.get("admin")!;
  const { id } = (await admin.call("POST", "/dashboard/api/batches", { batch })).json().batch;
  await stories.visit("admin", WIDE, async (page) => {
    await open(page, `payouts/batches/${id}`);
    const upload = (text: string) =>
      page.locator('input[type="file"]').setInputFiles({
        ...{ name: "corrected.csv", mimeType: "text/csv", buffer: Buffer.from(text) },
      });
    await page.getByRole("button", { name: "Upload corrected rows" }).waitFor();
    await upload("Amount,Name\n12,Payee\n");
    await page.getByText(/The file has no row of this batch/).waitFor();
    await upload("");
    await expect.poll(() => page.getByText(/no row of this batch/).count()).toBe(0);
    expect(await page.getByRole("alert").count()).toBe(1);
    await page.getByRole("button", { name: "Delete file" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete the file" });
    await dialog.getByText("payouts.csv and every correction").waitFor();
    await inspect(page, "batch-delete");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Delete file" }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.waitForURL("**/payouts/batches");
    await page.getByRole("heading", { level: 1, name: "Batches" }).waitFor();
    expect(await page.getByText("payouts.csv").count()).toBe(0);
  });
});

test("an account beyond the newest hundred is found by its number", STORY, async () => {
  const terms = { deposit_token: "usdc", deposit_token_chain: "polygon" };
  const add = (n: number) =>
    stories.sliproad.paymentDetails.create(user_id, {
      ...{ currency: "eur", rails: "local", beneficiary_type: "business" },
      ...{ account_name: `Payee ${n}`, iban: ibanAt(n), bank_name: "Sample Bank" },
      ...{ address_line1: "1 Sample Street", city: "Berlin", postal_code: "10115", country: "DE" },
    });
  for (let n = 1; n <= 101; n += 1) await add(n);
  const { quote } = await stories.sliproad.quotes.create(user_id, terms);
  await stories.visit("admin", WIDE, async (page) => {
    await open(page, `quotes/${quote.id}`);
    await page.getByRole("button", { name: "Add a payout" }).click();
    const payee = page.getByRole("dialog").getByRole("combobox", { name: "Payee" });
    await payee.fill("Payee 1 ·");
    await page.getByText("Not among the newest 100. Type the whole account number.").waitFor();
    await payee.fill(ibanAt(1));
    await page.getByRole("option", { name: /^Payee 1 · Sample Bank/ }).click();
    await page.getByLabel("Amount in EUR").fill("120");
    await page.getByLabel("Reference").fill("Invoice 1");
    await inspect(page, "add-payout");
    await page.getByRole("dialog").getByRole("button", { name: "Add" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByText("Payee 1", { exact: true }).waitFor();
  });
});

test(
  "somebody beyond the newest people is found by e-mail address or id, and named",
  STORY,
  async () => {
    const id = await addPerson("first@example.test");
    for (let n = 0; n < 200; n += 20) {
      const emails = Array.from({ length: 20 }, (_, at) => `person${n + at}@example.test`);
      await Promise.all(emails.map(addPerson));
    }
    await stories.visit("admin", WIDE, async (page) => {
      await open(page, "bank-accounts/new");
      const person = page.getByRole("combobox").first();
      const options = page.getByRole("option");
      await person.fill("Nobody Atall");
      await page.getByText("Nobody among the newest 200 people has this name.").waitFor();
      for (const text of ["first@example.test", id]) {
        await person.fill(text);
        await expect.poll(() => options.count()).toBe(1);
      }
      const name = (await options.first().textContent()) ?? "";
      await options.first().click();
      await expect.poll(() => person.inputValue()).toBe(name);
      expect(name).not.toContain(id.slice(-8));
      await open(page, `quotes?user_id=${id}`);
      await expect.poll(() => page.getByRole("combobox").first().inputValue()).toBe(name);
    });
  },
);

test("signing out that did not work says so", async () => {
  await stories.visit(
    "admin",
    WIDE,
    async (page) => {
      await open(page, "people");
      await page.route(/\/sign-out$/, (route) => route.fulfill({ status: 503, body: "busy" }));
      await page.getByRole("button", { name: "admin@example.test" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByRole("alert").getByText("You are still signed in").waitFor();
      await inspect(page, "sign-out-failed");
      expect(page.url()).toContain("/dashboard/people");
    },
    /status of (422|503)/,
  );
});

test("an address that leads to nothing says so, and shows the way back", async () => {
  await stories.visit(
    "admin",
    WIDE,
    async (page) => {
      for (const path of ["settings/nowhere", "settings/team/a/b", "payouts/a/b"]) {
        await open(page, path);
        await page.getByRole("heading", { name: "There is no such page" }).waitFor();
      }
      await inspect(page, "no-such-page");
      await page.getByRole("link", { name: "To the first page" }).click();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      for (const list of ["people", "documents", "quotes"]) {
        await open(page, `${list}/${crypto.randomUUID()}`);
        await page.getByRole("alert").getByText("This could not be shown").waitFor();
        await page.getByRole("navigation", { name: "Back" }).getByRole("link").click();
        await page.waitForURL(`**/dashboard/${list}`);
      }
    },
    /status of 404/,
  );
});
