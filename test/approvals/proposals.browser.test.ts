import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PASSWORD } from "../accounts/access-server.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { statusOf } from "../kyc/kyc-fixture.ts";
import { addWaiting, decide, setAccount, signInAs } from "../kyc/review/review-fixture.ts";
import { openStory } from "../offramps/story.ts";
import {
  addMember,
  addOwedUser,
  PROPOSALS,
  payOut,
  proposalIn,
  STRANGE,
} from "./proposal-fixture.ts";

let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  server = await startTestServer({
    environment: { SLIPROAD_APPROVAL_ABOVE_USD: "1000", SLIPROAD_DOCUMENTS: "never" },
  });
  browser = await openBrowser();
});

afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

async function visit(email: string, width: number, colour: "light" | "dark") {
  const context = await browser.newContext({
    viewport: { width, height: 740 },
    colorScheme: colour,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const errors = watchErrors(page);
  await page.goto(`${server.url}${PROPOSALS}`);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Proposals" }).waitFor();
  return { page, errors, close: () => context.close() };
}

describe.each([
  [1280, "light"],
  [360, "dark"],
] as const)("on a screen of %i px, %s", (width, colour) => {
  test("a member finds, confirms and rejects proposals", async () => {
    const account = await server.addAccount(`Northern Lights Trading ${width}`);
    const email = `ada.with.a.rather.long.name.${width}@example.test`;
    await addMember(server, "admin", account.account_id, email);
    const other = await addMember(server, "approver", account.account_id);
    const user = await addOwedUser(server, 30_000, account.key);
    const confirmed = proposalIn(await user.refund("12345.678901"));
    const rejected = proposalIn(await user.refund(25, STRANGE));
    const waiting = proposalIn(await user.refund(2000));
    await other.confirm(confirmed.id);
    await other.confirm(waiting.id);

    const { page, errors, close } = await visit(email, width, colour);
    try {
      expect(new URL(page.url()).pathname).toBe(PROPOSALS);
      expect(await scrollsSideways(page)).toBe(false);
      expect(await findBarriers(page)).toEqual([]);
      await takeShot(page, `proposals-${width}`);

      const section = (text: string) => page.getByRole("region", { name: text });
      const large = section(confirmed.summary);
      expect(await large.textContent()).toContain(other.email);
      await large.getByRole("button", { name: "Confirm" }).click();
      await large.waitFor({ state: "detached" });

      const strange = section(rejected.summary);
      expect(await strange.textContent()).toContain(STRANGE);
      await strange.getByLabel("Reason for rejecting").fill("Nobody knows this address");
      await strange.getByRole("button", { name: "Reject" }).click();
      await strange.waitFor({ state: "detached" });
      await page.getByText("Rejected: Nobody knows this address").waitFor();

      const { key } = account;
      await server.app.worker.runUntilIdle(10_000);
      const shown = await server.call("GET", `/proposals/${confirmed.id}`, undefined, { key });
      expect(shown.body.proposal.status).toBe("done");
      await page.reload();
      expect(await scrollsSideways(page)).toBe(false);
      expect(await findBarriers(page)).toEqual([]);
      await takeShot(page, `proposals-decided-${width}`);
      expect(errors).toEqual([]);
    } finally {
      await close();
    }
  });

  test("a reviewer finds a KYC decision among the proposals and confirms it on the review page", async () => {
    const { account_id } = server;
    await setAccount(server, account_id, { kyc_two_person_approval: true });
    const first = await signInAs(server, account_id, "admin");
    const { user_id, path } = await addWaiting(server);
    await decide(first.visitor, path, "approve", "The passport is genuine");
    const { email } = await addMember(server, "approver");
    const story = await openStory(server, [{ amount: 12_000 }]);
    const members = [await addMember(server, "admin"), await addMember(server, "approver")];
    await payOut(server, story, members);
    const offramp = { status: "bounced" };
    await server.call("PATCH", `/sandbox/offramps/${story.offramp_id}`, { offramp });
    const rerouted = proposalIn(await story.reroute());
    const { page, errors, close } = await visit(email, width, colour);
    try {
      const section = page.getByRole("region", { name: "Identity review: Approve" });
      expect(await section.getByRole("button").count()).toBe(0);
      expect(await scrollsSideways(page)).toBe(false);
      expect(await findBarriers(page)).toEqual([]);
      await takeShot(page, `proposals-kyc-${width}`);
      const reroute = page.getByRole("region", { name: rerouted.id });
      for (const { value } of rerouted.details) await reroute.getByText(value).first().waitFor();
      await section.getByRole("link", { name: "Review the user's identity" }).click();
      await page.getByText("The passport is genuine").first().waitFor();
      await page.getByRole("button", { name: "Confirm: Approve" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
      await page.getByText("Your decision is saved.").waitFor();
      expect(await statusOf(server, user_id)).toBe("approved");
      await page.goto(`${server.url}${PROPOSALS}`);
      expect(await section.count()).toBe(0);
      await page.getByText("Identity review: Approve.").first().waitFor();
      expect(errors).toEqual([]);
    } finally {
      await close();
      await setAccount(server, account_id, { kyc_two_person_approval: false });
    }
  });

  test("a vote that is too late shows an alert on the current page", async () => {
    const account = await server.addAccount(`Late ${width}`);
    const email = `late.${width}@example.test`;
    await addMember(server, "finance_manager", account.account_id, email);
    const other = await addMember(server, "approver", account.account_id);
    const user = await addOwedUser(server, 5000, account.key);
    const { id } = proposalIn(await user.refund(2000));
    const { page, close } = await visit(email, width, colour);
    try {
      await other.reject(id);
      await page.getByRole("button", { name: "Confirm" }).click();
      const alert = page.getByRole("alert");
      await alert.waitFor();
      expect(await alert.textContent()).toContain("Voting on this proposal has ended");
      expect(await scrollsSideways(page)).toBe(false);
      expect(await findBarriers(page)).toEqual([]);
      await takeShot(page, `proposals-late-${width}`);
    } finally {
      await close();
    }
  });
});
