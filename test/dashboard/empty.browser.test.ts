import { afterAll, beforeAll, expect, test } from "vitest";
import { newUser } from "../harness/records.ts";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";
import { ibanAt } from "./payout-files.ts";

const TEST_MS = 240_000;

let stories: Stories;

beforeAll(async () => {
  stories = await openStories(["admin"]);
}, TEST_MS);
afterAll(() => stories?.close());

const open = (path: string) => `${stories.server.url}/dashboard/${path}`;

/** Every list of an account in which nothing has happened, and what it says. */
const EMPTY = [
  ["payouts", "No payouts yet"],
  ["payouts?status=bounced", "Nothing matches"],
  ["payouts/batches", "No files yet"],
  ["quotes", "No quotes yet"],
  ["deposits", "No onramps yet"],
  ["deposits?tab=coins", "No coins yet"],
  ["deposits?tab=unmatched", "Nothing waits"],
  ["deposits?tab=exceptions", "Nothing is unclear"],
  ["deposits?tab=sends", "Nothing is on its way"],
  ["people", "No"],
  ["people/reviews", "Nothing waits"],
  ["people/reviews?status=retry_required", "Nobody here"],
  ["people/reviews?status=retry_denied", "Nobody here"],
  ["bank-accounts", "No"],
  ["invoices", "No"],
  ["ledger", "Nothing is booked yet"],
  ["ledger?tab=journal", "Nothing is booked yet"],
  ["approvals", "Nothing waits for you"],
  ["approvals?tab=waiting", "Nothing waits"],
  ["approvals?tab=decided", "Nothing was decided yet"],
  ["settings/developer/apps", "No apps yet"],
  ["settings/developer/logs", "No request yet"],
] as const;

test.each([WIDE, NARROW])(
  "empty lists have no barriers, $width px",
  {
    timeout: TEST_MS,
  },
  async (look) => {
    await stories.visit("admin", look, async (page) => {
      for (const [path, title] of EMPTY) {
        await page.goto(open(path));
        await page.locator(".empty").getByRole("heading").filter({ hasText: title }).waitFor();
        await inspect(page, `empty-${path.replaceAll(/\W/g, "-")}-${look.width}`);
      }
    });
  },
);

test("logs, bank exceptions and an onramp have no barriers; names stand for ids", {
  timeout: TEST_MS,
}, async () => {
  const { server, sliproad, members } = stories;
  const user = { ...newUser().user, email: "ana@example.test", first_name: "Ana" };
  const { id: user_id } = (await server.call("POST", "/users", { user })).body.user;
  const name = `Ana ${user.last_name}`;
  await sliproad.sandbox.setKycStatus(user_id, "approved");
  const onramp = await sliproad.onramps.create(user_id, {
    ...{ fiat_currency: "eur", fiat_rails: "local" },
    ...{ crypto_currency: "usdc", crypto_rails: "polygon", destination_amount: 100 },
    destination_address: `0x${"5".repeat(40)}`,
  });
  const terms = { deposit_token: "usdc", deposit_token_chain: "polygon" };
  await sliproad.quotes.create(user_id, terms);
  await server.core.database.query(
    `insert into bank_answers (account_id, bank_reference, end_to_end_id, kind, amount, currency,
       outcome, created_at, status, updated_at)
     values ($1, 'LINE-99', 'lost', 'booked', 1200, 'eur', 'no_such_payment', $2, 'open', $2)`,
    [server.account_id, server.core.clock.now()],
  );
  const rows = [{ n: 1, cells: { account_name: "Payee", iban: ibanAt(1), amount: "-1" } }];
  const batch = {
    ...{ user_id, ...terms, file_name: "payouts.csv", file_hash: "7".repeat(64), rows },
  };
  await members.get("admin")!.call("POST", "/dashboard/api/batches", { batch });
  await stories.visit("admin", WIDE, async (page) => {
    await page.goto(open("settings/developer/logs"));
    await page.getByRole("row").nth(1).waitFor();
    await inspect(page, "logs");
    await page.goto(open("deposits?tab=exceptions"));
    await page.getByText("LINE-99").waitFor();
    await inspect(page, "bank-exceptions");
    await page.goto(open(`deposits/${onramp.id}`));
    await page.getByRole("heading", { level: 1, name: new RegExp(name) }).waitFor();
    await page.getByText("Polygon").first().waitFor();
    await inspect(page, "onramp");
    await page.goto(open("quotes"));
    await page.getByRole("cell", { name }).waitFor();
    await page.getByRole("cell", { name: "Polygon" }).waitFor();
    await page.goto(open(`quotes?user_id=${crypto.randomUUID()}`));
    await page.getByText("Nothing matches").waitFor();
    await page.goto(open("payouts/batches"));
    await page.getByRole("columnheader", { name: "Kept until" }).waitFor();
    const second = "It differs from the document.";
    await page.route(/\/api\/batches\/[0-9a-f-]{36}/, async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      const problem = { cell: "amount", severity: "error", code: "other", message: second };
      json.rows[0].problems.push(problem);
      await route.fulfill({ response, json });
    });
    await page.getByText("payouts.csv").click();
    const cell = page.getByRole("cell").filter({ hasText: second });
    await cell.waitFor();
    // What the server found stands there too.
    expect((await cell.innerText()).replace(second, "").trim()).not.toBe("");
    await inspect(page, "batch-two-problems");
    await page.goto(open("payouts/batches/new"));
    const file = { name: "one.csv", mimeType: "text/csv", buffer: Buffer.from("Name,Sum\nA,1\n") };
    await page.locator('input[type="file"]').setInputFiles(file);
    await page.getByText("1 row", { exact: false }).first().waitFor();
    await page.getByRole("combobox", { name: "Currency of all rows" }).fill("jpy");
    await page.getByRole("option", { name: "JPY" }).click();
  });
  expect(onramp.user_id).toBe(user_id);
});
