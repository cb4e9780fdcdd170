import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SESSIONS } from "../../src/accounts/sign-in/session-store.ts";
import { vouch } from "../harness/vouch.ts";
import { inspect, openStories, type Stories, WIDE } from "./browser-stories.ts";

let stories: Stories;

beforeAll(async () => {
  // Browsers have passkeys for localhost, not for an IP address.
  stories = await openStories(["admin"], { host_name: "localhost" });
});
afterAll(() => stories?.close());

/** How the browser tells of the act that needs a proof first. */
const NEEDS_PROOF = /status of 403/;

/** Makes the last confirmation older. */
async function ageConfirmation(minutes: number): Promise<void> {
  const { server, members } = stories;
  await server.core.database.query(
    `update sessions set confirmed_at = confirmed_at - make_interval(mins => $2)
     where person_id = $1`,
    [members.get("admin")!.person_id, minutes],
  );
  await vouch(server.core.database, SESSIONS);
}

/** Creates an API key when the last confirmation is too old. */
async function createKeyLate(page: Page): Promise<void> {
  await ageConfirmation(11);
  await page.goto(`${stories.server.url}/dashboard/settings/developer/keys`);
  await page.getByRole("button", { name: "Create key" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("Reports");
  expect(await dialog.getByText("`").count()).toBe(0);
  await dialog.getByRole("button", { name: "Create key" }).click();
}

const CODE = { name: "Use a code of your second factor" };

test("who has no second factor is asked for the password only", async () => {
  await stories.visit(
    "admin",
    WIDE,
    async (page) => {
      await createKeyLate(page);
      const dialog = page.getByRole("dialog", { name: "Confirm that it is you" });
      await dialog.getByText("Enter your password to go on.").waitFor();
      expect(await dialog.getByRole("button", CODE).count()).toBe(0);
      await ageConfirmation(-11);
    },
    NEEDS_PROOF,
  );
});

test("a passkey confirms what needs a proof", async () => {
  const { server } = stories;
  const { url } = server;
  await stories.visit(
    "admin",
    WIDE,
    async (page) => {
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("WebAuthn.enable");
      const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
        options: {
          ...{ protocol: "ctap2", transport: "internal" },
          ...{ hasResidentKey: true, hasUserVerification: true },
          ...{ isUserVerified: true, automaticPresenceSimulation: true },
        },
      });
      await page.goto(`${url}/dashboard/security/passkeys/new`);
      await page.getByLabel("Name").fill("Laptop");
      await page.getByRole("button", { name: "Add passkey" }).click();
      await page.getByRole("heading", { name: "Your recovery codes" }).waitFor();

      await createKeyLate(page);
      const dialog = page.getByRole("dialog", { name: "Confirm that it is you" });
      await dialog.getByRole("button", CODE).waitFor();
      const use = dialog.getByRole("button", { name: "Use a passkey" });
      await use.waitFor();
      await inspect(page, "confirm-passkey");
      await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: false });
      await use.click();
      await dialog.getByText("No passkey was used").waitFor();
      await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified: true });
      await use.click();
      await dialog.waitFor({ state: "detached" });
      const secret = await page.getByRole("textbox", { name: /key/i }).inputValue();
      expect((await server.call("GET", "/users", undefined, { key: secret })).status).toBe(200);
    },
    NEEDS_PROOF,
  );
});
