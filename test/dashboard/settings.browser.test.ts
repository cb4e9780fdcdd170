import { createHmac } from "node:crypto";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readOutbox } from "../../src/partners/mail/sandbox.ts";
import { authenticatorOf, enrol } from "../accounts/authenticator.ts";
import { openBrowser, watchErrors } from "../harness/browser.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

/** Less than a test has, so that what was waited for is named. */
const WAIT_MS = 30_000;
const STORY_MS = 240_000;
const NEW_EMAIL = "dev@example.test";
const NEW_PASSWORD = "a long new password 7";

let server: TestServer;
let browser: Browser;
let receiver: Receiver;
let account_id: string;

beforeAll(async () => {
  [server, browser, receiver] = await Promise.all([
    startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "required" } }),
    openBrowser(),
    startReceiver(),
  ]);
  ({ account_id } = await server.addAccount("Tenant"));
  const enable = "update accounts set webhooks_enabled_at = now() where id = $1";
  await server.core.database.query(enable, [account_id]);
});
afterAll(async () => {
  await browser?.close();
  await receiver?.close();
  await server?.close();
});

/** A member with a second factor, signed in. */
async function addMember(role: "admin" | "accountant"): Promise<BrowserMember> {
  const email = `${role}@example.test`;
  const member = await signInMember(server, { account_id, role, email });
  await enrol(member.visitor);
  await member.visitor.get("/dashboard/security");
  return member;
}

async function open(context: BrowserContext): Promise<{ page: Page; errors: string[] }> {
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  return { page, errors: watchErrors(page) };
}

/** Follows the invitation, sets up a second factor, and signs in with it. */
async function acceptInvitation(page: Page): Promise<void> {
  const { database, index_key } = server.core;
  const link = await waitFor(async () => {
    const mails = await readOutbox(database, index_key, new Date());
    const mail = mails.find(({ to, text }) => to === NEW_EMAIL && text.includes("set-password"));
    return mail && /\S+set-password\S+/.exec(mail.text)![0];
  });
  await page.goto(link);
  await page.getByLabel("New password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Set password" }).click();
  await page.getByText("Your password is set").waitFor();
  await givePassword(page);
  await page.getByRole("heading", { level: 1, name: "Security" }).waitFor();
  await page.getByRole("link", { name: "Set up an authenticator app" }).click();
  await page.getByText("Enter it by hand instead").click();
  const app = authenticatorOf((await page.locator("details code").textContent())!);
  await page.getByLabel("Code").fill(app.code());
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByRole("link", { name: "go on" }).waitFor();
  await page.context().clearCookies();
  await givePassword(page);
  await page.getByRole("heading", { level: 1, name: "Second factor" }).waitFor();
  await page.getByLabel("Code").fill(app.code(1));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Second factor on").waitFor();
}

async function givePassword(page: Page): Promise<void> {
  await page.goto(`${server.url}/dashboard/settings/security`);
  await page.getByLabel("E-mail").fill(NEW_EMAIL);
  await page.getByLabel("Password").fill(NEW_PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("an invited member signs in with a second factor, makes an app, receives a signed event, sees it in the log and replays it", {
  timeout: STORY_MS,
}, async () => {
  const admin = await addMember("admin");
  const invitation = { email: NEW_EMAIL, role: "developer", reason: "a colleague" };
  const invited = await admin.call("POST", "/dashboard/api/members", invitation);
  expect(invited.json()).toEqual({ done: true });
  const context = await browser.newContext();
  const { page, errors } = await open(context);
  await acceptInvitation(page);

  await page.getByRole("link", { name: "Settings", exact: true }).click();
  await page.getByRole("link", { name: "Developer", exact: true }).click();
  await page.getByRole("link", { name: "Apps", exact: true }).click();
  await page.waitForURL("**/dashboard/settings/developer/apps");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Create app" }).click();
  await dialog.getByLabel("Name").fill("Invoice sync");
  await dialog.getByRole("button", { name: "Create app" }).click();
  const done = page.getByRole("button", { name: "Done" });
  await done.waitFor();
  expect(await done.isDisabled()).toBe(true);
  await page.getByLabel("I stored it").check();
  await done.click();
  await page.getByRole("heading", { level: 2, name: "Why nothing is sent" }).waitFor();

  // The URL and the secret, later.
  await page.getByRole("button", { name: "Set webhook URL" }).click();
  await dialog.getByLabel("Webhook URL").fill(receiver.url);
  await dialog.getByLabel("A payout changed its state").check();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Set secret" }).click();
  await dialog.getByRole("button", { name: "Set secret" }).click();
  const shown = page.getByRole("textbox", { name: "Webhook secret", exact: true });
  const secret = await shown.inputValue();
  await page.getByLabel("I stored it").check();
  await done.click();
  await page.getByRole("heading", { level: 2, name: "Events are sent" }).waitFor();

  await page.getByRole("button", { name: "Send test event" }).click();
  await dialog.getByRole("button", { name: "Send test event" }).click();
  const [first] = await receiver.waitFor(1);
  const digest = createHmac("sha256", secret).update(first!.raw).digest("hex");
  expect(first!.headers["x-webhook-signature"]).toBe(digest);

  await page.getByRole("button", { name: "offramp_update, Delivered" }).click();
  await page.getByText(digest).waitFor();
  await page.getByRole("tab", { name: "Response" }).click();
  await page.getByText("Try 1: HTTP 200").waitFor();
  await page.getByRole("button", { name: "Redeliver" }).click();
  await page.getByText("Try 2: HTTP 200").waitFor();
  const [, second] = await receiver.waitFor(2);
  expect(second!.raw.equals(first!.raw)).toBe(true);
  expect(second!.headers["webhook-id"]).toBe(first!.headers["webhook-id"]);

  await receiver.close();
  await page.getByRole("button", { name: "Redeliver" }).click();
  await page.getByText(/The connection failed \(ECONNREFUSED\) after \d+ ms/).waitFor();
  await page.reload();
  await page.getByRole("heading", { level: 2, name: "Deliveries fail" }).waitFor();
  expect(errors).toEqual([]);
  await context.close();
});

test("an accountant cannot do what only an admin may, neither by button nor by request", {
  timeout: STORY_MS,
}, async () => {
  const accountant = await addMember("accountant");
  const context = await browser.newContext();
  const { url } = server;
  const cookies = [...accountant.visitor.cookies];
  await context.addCookies(cookies.map(([name, value]) => ({ name, value, url })));
  const { page, errors } = await open(context);
  await page.goto(`${url}/dashboard/settings`);
  await page.getByRole("heading", { level: 1, name: "Security" }).waitFor();
  await page.getByText("This one").waitFor();
  const sections = page.getByRole("navigation", { name: "Settings" }).getByRole("link");
  expect(await sections.allTextContents()).toEqual(["Security"]);
  expect(await page.getByRole("button", { name: "Propose another" }).count()).toBe(0);
  for (const path of ["team", "audit", "developer/apps", "developer/keys", "developer/logs"]) {
    await page.goto(`${url}/dashboard/settings/${path}`);
    await page.getByRole("heading", { name: "You cannot see this page" }).waitFor();
  }
  await page.goto(`${url}/dashboard/people/reviews`);
  await page.getByRole("heading", { name: "You cannot see this page" }).waitFor();
  expect(await page.getByRole("tab").count()).toBe(0);
  expect(errors).toEqual([]);
  await context.close();

  const id = crypto.randomUUID();
  const requests = [
    ["POST", "/dashboard/api/members", { email: "x@example.test", role: "admin", reason: "x" }],
    ["POST", `/dashboard/api/members/${id}/change`, { action: "remove", reason: "x" }],
    ["POST", "/dashboard/api/keys", { name: "x" }],
    ["POST", `/dashboard/api/keys/${id}/revoke`, {}],
    ["POST", "/dashboard/api/approval_amount", { above_usd: 1, reason: "x" }],
    ["POST", "/apps", { app: { name: "x" } }],
    ["POST", `/apps/${id}/delete`, {}],
    ["POST", `/apps/${id}/replay`, { from: "2026-01-01T00:00:00Z" }],
    ["GET", "/dashboard/api/audit", undefined],
    ["GET", "/dashboard/api/members", undefined],
    ["GET", "/apps", undefined],
  ] as const;
  for (const [method, path, body] of requests) {
    const answer = await accountant.call(method, path, body);
    expect([path, answer.statusCode]).toEqual([path, 403]);
    expect(answer.json().message).toMatch(/^Your role may not do this/);
  }
});
