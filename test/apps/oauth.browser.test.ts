import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBrowser, scrollsSideways, takeShot, watchErrors } from "../harness/browser.ts";
import { addApp, addMember, askFor, type Client, exchangeCode } from "../harness/oauth.ts";
import { PASSWORD } from "../harness/password.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

const EMAIL = "ada.with.a.rather.long.name@example.test";
const SCOPE = "openid email offline_access user:read invoices:read invoices:write";

/** The application's own site, on a different origin than the service. */
const site = createServer((_request, response) => {
  response.setHeader("content-type", "text/html").end("<title>Back</title><h1>Back</h1>");
});

let server: TestServer;
let browser: Browser;
let client: Client;
let redirect_uri: string;

beforeAll(async () => {
  server = await startTestServer();
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  redirect_uri = `http://localhost:${(site.address() as AddressInfo).port}/callback`;
  await addMember(server, server.account_id, EMAIL);
  const branch = await server.addAccount("Northern Lights Trading GmbH");
  await addMember(server, branch.account_id, EMAIL, "finance_manager");
  client = await addApp(server, server.account_id, {
    name: "Bookkeeping of the Seven Sisters",
    redirect_uris: [redirect_uri],
  });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  site.close();
  await server?.close();
});

async function expectGood(page: Page, name: string): Promise<void> {
  expect(await scrollsSideways(page)).toBe(false);
  await takeShot(page, name);
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate("axe.run()")) as axe.AxeResults;
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
}

async function createKite(page: Page, width: number): Promise<void> {
  await page.goto(`${server.url}/dashboard/settings/developer/apps`);
  await page.getByRole("button", { name: "Create app" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill(`Kite of ${width}`);
  await dialog.getByLabel("Authorization code").check();
  await dialog.getByLabel("Redirect URLs").fill(redirect_uri);
  await dialog.getByLabel("Webhook URL").fill("https://hooks.example.test/in");
  await dialog.getByRole("button", { name: "Create app" }).click();
  await page.getByRole("textbox", { name: "Client secret", exact: true }).waitFor();
  await expectGood(page, `oauth-apps-${width}`);
}

describe.each([1280, 360])("on a screen of %i px", (width) => {
  test("signing in, consenting and revoking work, and every page is accessible", async () => {
    const context = await browser.newContext({ viewport: { width, height: 740 } });
    try {
      const page = await context.newPage();
      const errors = watchErrors(page);
      const asking = askFor(client, SCOPE, { redirect_uri });
      await page.goto(`${server.url}${asking.url}`);
      await expectGood(page, `oauth-sign-in-${width}`);
      await page.getByLabel("E-mail").fill(EMAIL);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: /Allow Bookkeeping/ }).waitFor();
      await expectGood(page, `oauth-consent-${width}`);
      await page.getByLabel("For the account").selectOption({ index: 1 });
      await page.getByRole("button", { name: "Allow" }).click();
      await page.waitForURL(`${redirect_uri}?**`);
      const code = new URL(page.url()).searchParams.get("code")!;
      const tokens = await exchangeCode(server, client, code, asking.verifier, { redirect_uri });
      expect(tokens.status).toBe(200);

      // Already signed in and authorised: no page in between.
      const again = askFor(client, SCOPE, { redirect_uri });
      await page.goto(`${server.url}${again.url}`);
      expect(page.url()).toContain(redirect_uri);

      await createKite(page, width);
      await page.goto(`${server.url}/dashboard/settings/security`);
      await page.getByRole("heading", { name: "Connected apps" }).waitFor();
      await expectGood(page, `oauth-connected-${width}`);
      await page.getByRole("button", { name: /Revoke the access of Bookkeeping/ }).click();
      await page.getByText("No app may act for you.").waitFor();
      expect(errors).toEqual([]);

      const denied = askFor(client, SCOPE, { redirect_uri });
      await page.goto(`${server.url}${denied.url}`);
      await page.getByRole("button", { name: "Deny" }).click();
      await page.waitForURL(`${redirect_uri}?**`);
      expect(new URL(page.url()).searchParams.get("error")).toBe("access_denied");

      const broken = askFor(client, SCOPE, { redirect_uri: "https://evil.example.test/" });
      await page.goto(`${server.url}${broken.url}`);
      await expectGood(page, `oauth-refused-${width}`);
    } finally {
      await context.close();
    }
  });
});
