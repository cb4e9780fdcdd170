import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readOutbox } from "../../src/partners/mail/sandbox.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { addMember } from "../harness/oauth.ts";
import { PASSWORD } from "../harness/password.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { type Authenticator, authenticatorOf } from "./authenticator.ts";

const CHOSEN = "seven quiet herons at dusk";
const CHANGED = "eleven loud geese at dawn";

let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_SECOND_FACTOR: "required" } });
  browser = await openBrowser();
});
afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

type Visit = { context: BrowserContext; page: Page; errors: string[] };

async function visit(): Promise<Visit> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  return { context, page, errors: watchErrors(page) };
}

/** The page fits a wide and a narrow window, has no barriers, and its pictures can be looked at. */
async function look(page: Page, name: string): Promise<void> {
  for (const [width, colorScheme] of [
    [360, "dark"],
    [1280, "light"],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 740 });
    expect(await scrollsSideways(page), `${name} at ${width} px`).toBe(false);
    expect(await findBarriers(page)).toEqual([]);
    await takeShot(page, `people-${name}-${width}`);
  }
}

const heading = (page: Page, name: string) =>
  page.getByRole("heading", { level: 1, name }).waitFor();
const press = (page: Page, name: string) => page.getByRole("button", { name }).click();

async function givePassword(page: Page, email: string, password: string): Promise<void> {
  await page.goto(`${server.url}/dashboard`);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await press(page, "Sign in");
}

/** Sets up the second factor on the page that is open; returns the app and the recovery codes. */
async function enrol(page: Page): Promise<{ app: Authenticator; codes: string[] }> {
  await heading(page, "Set up a second factor");
  await page.getByText("Enter it by hand instead").click();
  const app = authenticatorOf((await page.locator("details code").textContent())!);
  await page.getByLabel("Code").fill(app.code());
  await press(page, "Set up");
  await heading(page, "Your recovery codes");
  const codes = await page.locator(".codes code").allTextContents();
  expect(codes).toHaveLength(10);
  return { app, codes };
}

function linkTo(email: string): Promise<string> {
  const { database, index_key } = server.core;
  return waitFor(async () => {
    const mails = await readOutbox(database, index_key, new Date());
    const mail = mails.find(({ to, text }) => to === email && text.includes("set-password"));
    return mail && /\S+set-password\S+/.exec(mail.text)![0];
  });
}

describe("the story of a member", () => {
  const account_name = "Northern Lights Trading";
  const email = "grace.with.a.rather.long.name@example.test";
  let admin: Visit;
  let member: Visit;
  let phone: Visit;
  let app: Authenticator;
  let codes: string[];

  beforeAll(async () => {
    [admin, member, phone] = [await visit(), await visit(), await visit()];
  });
  afterAll(async () => {
    for (const one of [admin, member, phone]) await one?.context.close();
  });

  test("an admin, who has to set up a second factor first, invites her", async () => {
    const { page } = admin;
    const { account_id } = await server.addAccount(account_name);
    await addMember(server, account_id, "admin@example.test", "admin");
    await givePassword(page, "admin@example.test", PASSWORD);
    await enrol(page);
    await page.getByRole("link", { name: "go on" }).click();
    await page.goto(`${server.url}/dashboard/settings/team`);
    await heading(page, "Team");
    await press(page, "Invite member");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("E-mail").fill(email);
    await dialog.getByLabel("Approver").check();
    await dialog.getByLabel("Reason").fill("new colleague");
    await dialog.getByRole("button", { name: "Invite" }).click();
    await page.getByRole("row", { name: email }).getByText("Invited").waitFor();
    await dialog.waitFor({ state: "detached" });
    await look(page, "team");
    expect(admin.errors).toEqual([]);
  });

  test("she follows the link, chooses a password and sets up a second factor", async () => {
    const { page } = member;
    await page.goto(await linkTo(email));
    await heading(page, "Choose a password");
    await look(page, "set-password");
    await page.getByLabel("New password").fill("password1234");
    await press(page, "Set password");
    expect(await page.getByRole("alert").textContent()).toContain("too common");
    await page.getByLabel("New password").fill(CHOSEN);
    await press(page, "Set password");
    await page.getByText("Your password is set").waitFor();
    await givePassword(page, email, CHOSEN);
    await heading(page, "Set up a second factor");
    await look(page, "enrol");
    ({ app, codes } = await enrol(page));
    await look(page, "codes");
    await page.getByRole("link", { name: "go on" }).click();
    await heading(page, "Overview");
  });

  test("on another device she signs in with password and code", async () => {
    const { page } = phone;
    await givePassword(page, email, CHOSEN);
    await heading(page, "Second factor");
    await look(page, "factor");
    await page.getByLabel("Code").fill(app.code(1));
    await press(page, "Sign in");
    await heading(page, "Overview");
    expect(phone.errors).toEqual([]);
  });

  test("without her phone a recovery code lets her in, and she ends the other session", async () => {
    const { page } = member;
    await press(page, email);
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await heading(page, "Sign in");
    await givePassword(page, email, CHOSEN);
    await page.getByLabel("Code").fill("000000");
    await press(page, "Sign in");
    expect(await page.getByRole("alert").textContent()).toContain("not correct");
    await page.getByLabel("Code").fill(codes[0]!);
    await press(page, "Sign in");
    await heading(page, "Overview");
    await page.goto(`${server.url}/dashboard/security`);
    await heading(page, "Security");
    await page.getByText("Change the second factor").click();
    await look(page, "security");
    await press(page, "End this session");
    await page.getByText("The session has ended").waitFor();
    await phone.page.goto(`${server.url}/dashboard`);
    await heading(phone.page, "Sign in");
  });

  test("she replaces the app, changes the password, and confirms that it is her", async () => {
    const { page } = member;
    await page.getByText("Change the second factor").click();
    await page.locator("#password-field").fill(CHOSEN);
    await page.getByLabel("Code").fill(codes[1]!);
    await press(page, "Remove authenticator app");
    await enrol(page);
    await page.goto(`${server.url}/dashboard/security`);
    await page.getByLabel("Current password").fill(CHOSEN);
    await page.getByLabel("New password").fill(CHANGED);
    await press(page, "Change password");
    await page.getByText("Your password is changed").waitFor();
    await page.goto(`${server.url}/confirm?next=/dashboard/approvals`);
    await look(page, "confirm");
    await page.locator("#password").fill(CHANGED);
    await page.getByRole("button", { name: "Confirm" }).first().click();
    await heading(page, "Approvals");
    // What is refused is answered with 4xx, which the console reports.
    expect(member.errors.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
  });
});
