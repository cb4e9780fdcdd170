import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBrowser, scrollsSideways, takeShot, watchErrors } from "../harness/browser.ts";
import { type AccessServer, PASSWORD, startAccessServer } from "./access-server.ts";

const EMAIL = "ada.with.a.rather.long.name@example.test";

let server: AccessServer;
let browser: Browser;
let url: string;

beforeAll(async () => {
  server = await startAccessServer({ public_url: "http://127.0.0.1" });
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}`;
  const account_id = await server.addAccount("demo", true);
  await server.addMember(account_id, EMAIL, "admin");
  await server.addMember(await server.addAccount("Northern Lights Trading GmbH"), EMAIL, "admin");
  await server.addApiKey(account_id, "Payroll of the northern branch");
  browser = await openBrowser();
});

afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

async function visit(width: number, work: (page: Page, errors: string[]) => Promise<void>) {
  const context = await browser.newContext({ viewport: { width, height: 740 } });
  try {
    const page = await context.newPage();
    const errors = watchErrors(page);
    await page.goto(`${url}/`);
    await work(page, errors);
  } finally {
    await context.close();
  }
}

async function signIn(page: Page, password: string): Promise<void> {
  await page.getByLabel("E-mail").fill(EMAIL);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

describe.each([1280, 360])("on a screen of %i px", (width) => {
  test("signing in, switching the account and signing out leave no console error", async () => {
    await visit(width, async (page, errors) => {
      expect(new URL(page.url()).pathname).toBe("/sign-in");
      expect(await scrollsSideways(page)).toBe(false);
      await takeShot(page, `sign-in-${width}`);
      await signIn(page, PASSWORD);
      await page.getByRole("heading", { level: 1, name: "demo" }).waitFor();
      expect(await scrollsSideways(page)).toBe(false);
      await takeShot(page, `dashboard-${width}`);
      await page.getByRole("combobox").selectOption("Northern Lights Trading GmbH");
      await page.getByRole("button", { name: "Switch" }).click();
      await page.getByRole("heading", { level: 1, name: /Northern/ }).waitFor();
      expect(await scrollsSideways(page)).toBe(false);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      await page.goto(`${url}/dashboard`);
      expect(new URL(page.url()).pathname).toBe("/sign-in");
      expect(errors).toEqual([]);
    });
  });

  test("a wrong password shows an alert that says what to do, and keeps the e-mail", async () => {
    await visit(width, async (page) => {
      await signIn(page, "wrong");
      const alert = page.getByRole("alert");
      await alert.waitFor();
      expect(await alert.textContent()).toContain("Check both and try again");
      expect(await page.getByLabel("E-mail").inputValue()).toBe(EMAIL);
      expect(await page.getByLabel("Password").inputValue()).toBe("");
      expect(await scrollsSideways(page)).toBe(false);
      await takeShot(page, `wrong-${width}`);
    });
  });

  test("a form with a forged token does nothing", async () => {
    await visit(width, async (page) => {
      await signIn(page, PASSWORD);
      await page.getByRole("heading", { level: 1, name: "demo" }).waitFor();
      await page.evaluate("document.querySelector('[name=csrf]').value = 'forged'");
      const answered = page.waitForResponse((answer) => answer.url().endsWith("/sign-out"));
      await page.getByRole("button", { name: "Sign out" }).click();
      expect((await answered).status()).toBe(403);
      await page.getByRole("heading", { name: "Access denied" }).waitFor();
      await takeShot(page, `forged-${width}`);
      await page.goto(`${url}/dashboard`);
      await page.getByRole("heading", { level: 1, name: "demo" }).waitFor();
    });
  });
});
