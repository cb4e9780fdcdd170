import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findBarriers } from "../harness/browser.ts";
import { HttpVisitor } from "../harness/http-visitor.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { inspect, openStories, type Stories, WIDE } from "./browser-stories.ts";

const STORY_MS = 120_000;

let stories: Stories;
let receiver: Receiver;

beforeAll(async () => {
  [stories, receiver] = await Promise.all([
    openStories(["admin", "finance_manager", "accountant", "developer"]),
    startReceiver(),
  ]);
});
afterAll(async () => {
  await receiver?.close();
  await stories?.close();
});

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

async function change(page: Page, email: string, act: string): Promise<void> {
  await press(page, `Change ${email}`);
  const item = page.getByRole("menuitem", { name: act });
  await item.hover();
  expect(await findBarriers(page)).toEqual([]);
  await item.click();
  await page.getByRole("dialog").waitFor();
  await page.getByRole("menu").waitFor({ state: "detached" });
  expect(await findBarriers(page)).toEqual([]);
}

test("an admin asks to change a role and to remove a member", { timeout: STORY_MS }, async () => {
  await stories.visit("admin", WIDE, async (page) => {
    await page.goto(`${stories.server.url}/dashboard/settings/team`);
    await inspect(page, "team");
    await change(page, "accountant@example.test", "Change role");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Approver").check();
    await dialog.getByLabel("Reason").fill("new task");
    await dialog.getByRole("button", { name: /change role/i }).click();
    await dialog.getByText("Nothing is paid or changed yet").waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await change(page, "developer@example.test", "Remove from team");
    await dialog.getByLabel("Reason").fill("has left");
    await dialog
      .getByRole("button", { name: /remove/i })
      .last()
      .click();
    await dialog.getByText("Nothing is paid or changed yet").waitFor();
    await dialog.getByRole("link", { name: "Approvals" }).click();
    await page.getByText("has left").waitFor();
  });
});

test("a key is created, and revoked", { timeout: STORY_MS }, async () => {
  const { server } = stories;
  await stories.visit("admin", WIDE, async (page) => {
    await page.goto(`${server.url}/dashboard/settings/developer/keys`);
    await press(page, "Create key");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Reports");
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Create key" }).click();
    const secret = await page.getByRole("textbox", { name: /key/i }).inputValue();
    expect((await server.call("GET", "/users", undefined, { key: secret })).status).toBe(200);
    await page.getByLabel("I stored it").check();
    await press(page, "Done");
    await page.getByRole("button", { name: /Revoke Reports/ }).click();
    await dialog.getByRole("button", { name: /Revoke/ }).click();
    await dialog.waitFor({ state: "detached" });
    const status = async () =>
      (await server.call("GET", "/users", undefined, { key: secret })).status;
    await expect.poll(status, { timeout: 5_000 }).toBe(401);
    await inspect(page, "keys");
  });
});

test("an app replays what it received, and is deleted", { timeout: STORY_MS }, async () => {
  const { sliproad, server } = stories;
  const { app } = await sliproad.apps.create({
    name: "Books",
    webhook_url: receiver.url,
    events: ["offramp_update"],
  });
  await stories.visit("admin", WIDE, async (page) => {
    await page.goto(`${server.url}/dashboard/settings/developer/apps/${app.id}`);
    const dialog = page.getByRole("dialog");
    await press(page, "Send test event");
    await dialog.getByRole("button", { name: "Send test event" }).click();
    await receiver.waitFor(1);
    await press(page, "Replay");
    await dialog.getByLabel("All, also those that were delivered").check();
    await dialog.getByText(/will be sent|No event of this period/).waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await press(page, "Delete");
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Delete permanently" }).click();
    await page.waitForURL("**/settings/developer/apps");
  });
});

test("other sessions are ended", { timeout: STORY_MS }, async () => {
  const { server } = stories;
  const { visitor, email } = stories.members.get("developer")!;
  const second = new HttpVisitor(server.app.server);
  await second.signIn(email);
  expect((await second.get("/dashboard")).statusCode).toBe(200);
  await stories.visit("developer", WIDE, async (page) => {
    await page.goto(`${server.url}/dashboard/settings/security`);
    await inspect(page, "security");
    await page.getByRole("button", { name: "End all others" }).click();
    await expect
      .poll(async () => (await second.get("/dashboard")).statusCode, { timeout: 10_000 })
      .toBe(303);
  });
  expect((await visitor.get("/dashboard")).statusCode).toBe(200);
});

test("a bank account is added, with its problems at the fields, and deactivated", {
  timeout: STORY_MS,
}, async () => {
  const { sliproad, server } = stories;
  await sliproad.users.create({
    beneficiary_type: "individual",
    email: "sam@example.test",
    first_name: "Sam",
    last_name: "Sample",
  });
  const rows = await sliproad.paymentDetails.requirements();
  const row = rows.find(
    (one) =>
      one.currency === "eur" && one.rails === "local" && one.beneficiary_type === "individual",
  );
  const chosen = ["currency", "rails", "beneficiary_type"];
  const fields = row!.fields.filter(({ name }) => !chosen.includes(name));
  await stories.visit("finance_manager", WIDE, async (page) => {
    await page.goto(`${server.url}/dashboard/bank-accounts`);
    await page.getByRole("link", { name: "Add a bank account" }).click();
    await page.getByLabel("Who is it for?").first().fill("sam@example.test");
    await page.getByRole("option", { name: /Sam Sample/ }).click();
    await page.getByLabel("IBAN").waitFor();
    await inspect(page, "new-bank-account");
    const inputs = page.locator("form .form-grid input");
    for (const [at, { example, required }] of fields.entries()) {
      if (required) await inputs.nth(at).fill(example);
    }
    await page.getByLabel("IBAN").fill("DE89370400440532013001");
    await press(page, "Add the bank account");
    await page.locator(".mantine-InputWrapper-error").waitFor();
    await page.getByLabel("IBAN").fill("DE89370400440532013000");
    await press(page, "Add the bank account");
    await page.getByRole("button", { name: /^Deactivate/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Nothing is paid any more to").waitFor();
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Deactivate" }).click();
    await page.getByRole("table").getByText("Deactivated").waitFor();
  });
});
