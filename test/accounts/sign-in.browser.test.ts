import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { PASSWORD } from "../harness/password.ts";
import { type AccessServer, startAccessServer } from "./access-server.ts";

const EMAIL = "ada.with.a.rather.long.name@example.test";

let server: AccessServer;
let browser: Browser;
let url: string;
let account_id: string;

beforeAll(async () => {
  // Browsers have passkeys for localhost, not for an IP address.
  const options = { public_url: "http://localhost" };
  server = await startAccessServer(options);
  await server.app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://localhost:${(server.app.server.address() as AddressInfo).port}`;
  options.public_url = url;
  account_id = await server.addAccount("demo", true);
  await server.addMember(account_id, EMAIL, "admin");
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

async function signIn(page: Page, password: string, email = EMAIL): Promise<void> {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

describe.each([1280, 360])("on a screen of %i px", (width) => {
  test("signing in and out leaves no console error", async () => {
    await visit(width, async (page, errors) => {
      expect(new URL(page.url()).pathname).toBe("/sign-in");
      expect(await scrollsSideways(page)).toBe(false);
      await takeShot(page, `sign-in-${width}`);
      await signIn(page, PASSWORD);
      await page.getByRole("heading", { level: 1, name: "demo" }).waitFor();
      expect(await scrollsSideways(page)).toBe(false);
      await takeShot(page, `dashboard-${width}`);
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

describe("a passkey in the browser", () => {
  const KEYED = "grace.with.a.rather.long.name@example.test";

  /** An authenticator of the browser's own, which has a fingerprint sensor. */
  async function addAuthenticator(page: Page) {
    const session = await page.context().newCDPSession(page);
    await session.send("WebAuthn.enable");
    const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    const verifies = (isUserVerified: boolean) =>
      session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
    return { verifies };
  }

  /** The page fits a wide and a narrow window and has no barriers. */
  async function look(page: Page, name: string): Promise<void> {
    for (const [width, colorScheme] of [
      [360, "dark"],
      [1280, "light"],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 740 });
      expect(await scrollsSideways(page), `${name} at ${width} px`).toBe(false);
      await takeShot(page, `passkey-${name}-${width}-${colorScheme}`);
    }
    expect(await findBarriers(page)).toEqual([]);
  }

  const heading = (page: Page, name: string) =>
    page.getByRole("heading", { level: 1, name }).waitFor();
  const press = (page: Page, name: string) => page.getByRole("button", { name }).click();

  test("is added, signs in alone and after the password, confirms, and is removed", async () => {
    await server.addMember(account_id, KEYED, "admin");
    await visit(1280, async (page, errors) => {
      const { verifies } = await addAuthenticator(page);
      await signIn(page, PASSWORD, KEYED);
      await heading(page, "demo");
      await page.goto(`${url}/dashboard/security`);
      await page.getByRole("link", { name: "Add a passkey" }).click();
      await page.getByLabel("Name").waitFor();
      await look(page, "new");
      await page.getByLabel("Name").fill("Laptop of the office in the north");
      await press(page, "Add passkey");
      await heading(page, "Your recovery codes");
      await page.getByRole("link", { name: "go on" }).click();
      await page.getByRole("link", { name: "Laptop of the office" }).waitFor();
      await page.getByText("Replace the recovery codes").click();
      await look(page, "security");

      await press(page, "Sign out");
      await page.getByRole("button", { name: "Sign in with a passkey" }).waitFor();
      await look(page, "sign-in");
      await verifies(false);
      await press(page, "Sign in with a passkey");
      await page.getByText("No passkey was used").waitFor();
      await verifies(true);
      await press(page, "Sign in with a passkey");
      await heading(page, "demo");

      await press(page, "Sign out");
      await signIn(page, PASSWORD, KEYED);
      await heading(page, "Second factor");
      await look(page, "factor");
      await press(page, "Use your passkey");
      await heading(page, "demo");
      await page.goto(`${url}/confirm?next=/dashboard/security`);
      await look(page, "confirm");
      await press(page, "Use your passkey");
      await heading(page, "Security");

      await page.getByRole("link", { name: "Laptop of the office" }).click();
      await page.getByRole("button", { name: "Remove passkey" }).waitFor();
      await look(page, "change");
      await page.getByLabel("Password").fill(PASSWORD);
      await press(page, "Remove passkey");
      await page.getByText("Your passkey is removed").waitFor();
      await page.getByText("You have no passkeys").waitFor();
      expect(errors).toEqual([]);
    });
  });

  test("is not offered by a browser that has none", async () => {
    await visit(1280, async (page, errors) => {
      await page.addInitScript("delete window.PublicKeyCredential");
      await page.reload();
      await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
      await page.waitForLoadState("load");
      expect(await page.getByText("Sign in with a passkey").isVisible()).toBe(false);
      expect(errors).toEqual([]);
    });
  });
});
