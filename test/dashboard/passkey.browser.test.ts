import { afterAll, beforeAll, expect, test } from "vitest";
import { inspect, openStories, type Stories, WIDE } from "./browser-stories.ts";

let stories: Stories;

beforeAll(async () => {
  // Browsers have passkeys for localhost, not for an IP address.
  stories = await openStories(["admin"], { host_name: "localhost" });
});
afterAll(() => stories?.close());

/** How the browser tells of the act that needs a proof first. */
const NEEDS_PROOF = /status of 403/;

test("a passkey confirms what needs a proof", async () => {
  const { server, members } = stories;
  const { person_id } = members.get("admin")!;
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

      await server.core.database.query(
        `update sessions set confirmed_at = confirmed_at - interval '11 minutes'
       where person_id = $1`,
        [person_id],
      );
      await page.goto(`${url}/dashboard/settings/developer/keys`);
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("Reports");
      await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
      const dialog = page.getByRole("dialog", { name: "Confirm it is you" });
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
