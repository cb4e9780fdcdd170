import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inspect, NARROW, WIDE } from "../dashboard/browser-stories.ts";
import { openBrowser, watchErrors } from "../harness/browser.ts";
import { PASSWORD } from "../harness/password.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { addWaiting, decide, setAccount, signInAs } from "../kyc/review/review-fixture.ts";
import { addMember, addOwedUser, proposalIn, STRANGE, showProposal } from "./proposal-fixture.ts";

let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_APPROVAL_ABOVE_USD: "1000" } });
  browser = await openBrowser();
});
afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

describe.each([WIDE, NARROW])("$width $colorScheme", ({ width, colorScheme }) => {
  /** Follows a link of an old message, and signs in. */
  async function visit(email: string): Promise<{ page: Page; errors: string[] }> {
    const context = await browser.newContext({ viewport: { width, height: 740 }, colorScheme });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const errors = watchErrors(page);
    await page.goto(`${server.url}/dashboard/proposals`);
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Approvals" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/dashboard/approvals");
    return { page, errors };
  }

  test("a member finds, confirms and rejects what others ask for", async () => {
    const account = await server.addAccount(`Northern Lights Trading ${width}`);
    const email = `ada.with.a.rather.long.name.${width}@example.test`;
    await addMember(server, "admin", account.account_id, email);
    const other = await addMember(server, "approver", account.account_id);
    const user = await addOwedUser(server, 30_000, account.key);
    const confirmed = proposalIn(await user.refund("12345.678901"));
    const rejected = proposalIn(await user.refund(25, STRANGE));
    await other.confirm(confirmed.id);
    const { page, errors } = await visit(email);
    const large = page.getByRole("region", { name: /12\s345\.678901 USDC/ });
    await large.getByText(other.email).waitFor();
    await inspect(page, `approvals-open-${width}`);
    await large.getByRole("button", { name: /^Approve/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await large.waitFor({ state: "detached" });
    const strange = page.getByRole("region", { name: /25\.00 USDC/ });
    expect(await strange.textContent()).toContain(STRANGE);
    await strange.getByRole("button", { name: /^Reject/ }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("Nobody knows this address");
    await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click();
    await strange.waitFor({ state: "detached" });
    const ends = [confirmed, rejected].map(({ id }) => showProposal(server, id, account.key));
    expect((await ends[1]!).outcome).toBe("Nobody knows this address");
    await waitFor(
      async () => (await showProposal(server, confirmed.id, account.key)).status === "done",
    );
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test("a reviewer finds a KYC decision among the approvals, which leads to its review", async () => {
    const { account_id } = server;
    await setAccount(server, account_id, { kyc_two_person_approval: true });
    const first = await signInAs(server, account_id, "admin");
    const { path } = await addWaiting(server);
    await decide(first.visitor, path, "approve", "The passport is genuine");
    const { email } = await addMember(server, "approver");
    const { page, errors } = await visit(email);
    await page.getByRole("tab", { name: /^All waiting/ }).click();
    const card = page.getByRole("region", { name: "Identity review: Approve" }).first();
    await card.getByText("Reviewers decide on the page of the review.").waitFor();
    expect(await card.getByRole("button").count()).toBe(0);
    await card.getByRole("link", { name: "See the review" }).click();
    await page.getByText("The passport is genuine").first().waitFor();
    expect(errors).toEqual([]);
    await setAccount(server, account_id, { kyc_two_person_approval: false });
    await page.context().close();
  });

  test("a vote that is too late says so", async () => {
    const account = await server.addAccount(`Late ${width}`);
    const email = `late.${width}@example.test`;
    await addMember(server, "finance_manager", account.account_id, email);
    const other = await addMember(server, "approver", account.account_id);
    const user = await addOwedUser(server, 5000, account.key);
    const { id } = proposalIn(await user.refund(2000));
    const { page } = await visit(email);
    await page.getByRole("button", { name: /^Approve/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Approve" }).waitFor();
    await other.reject(id);
    await dialog.getByRole("button", { name: "Approve" }).click();
    await page.getByText(/Voting on this proposal has ended/).waitFor();
    await page.context().close();
  });
});
