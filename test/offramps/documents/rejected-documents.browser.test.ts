import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PASSWORD } from "../../accounts/access-server.ts";
import { addMember } from "../../approvals/proposal-fixture.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../../harness/browser.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { png } from "../../kyc/kyc-fixture.ts";
import {
  type DocumentFixture,
  openDocumentFixture,
  PDF,
  type TestOfframp,
} from "./document-fixture.ts";

let server: TestServer;
let fixture: DocumentFixture;
let browser: Browser;

beforeAll(async () => {
  const environment = { SLIPROAD_DOCUMENTS: "review", SLIPROAD_APPROVAL_ABOVE_USD: "5000" };
  server = await startTestServer({ environment });
  fixture = await openDocumentFixture(server);
  browser = await openBrowser();
});

afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

async function addRejected(amount: number, file: Buffer, comment: string): Promise<TestOfframp> {
  const offramp = await fixture.addOfframp({ amount });
  expect((await fixture.upload(offramp, file)).status).toBe(200);
  const answer = await fixture.review(offramp, { status: "rejected", comment });
  expect(answer.status, answer.text).toBe(200);
  return offramp;
}

async function signIn(email: string, width: number, colour: "light" | "dark") {
  const viewport = { width, height: 740 };
  const context = await browser.newContext({ viewport, colorScheme: colour });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const errors = watchErrors(page);
  await page.goto(`${server.url}/dashboard`);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  if (width < 800) await page.getByRole("button", { name: "Open menu" }).click();
  await page.getByRole("link", { name: "Rejected documents" }).click();
  await page.getByRole("heading", { level: 1, name: "Rejected documents" }).waitFor();
  return { page, errors, close: () => context.close() };
}

describe.each([
  [1280, "light"],
  [360, "dark"],
] as const)("on a screen of %i px, %s", (width, colour) => {
  test("a member reviews a rejected document and approves it with a reason", async () => {
    const picture = await addRejected(1000, png("a photo of an invoice"), "The date is cut off");
    const waiting = await addRejected(1250, PDF, "This is last month's payslip");
    const { email } = await addMember(server, "approver");
    const { page, errors, close } = await signIn(email, width, colour);
    try {
      expect(await scrollsSideways(page)).toBe(false);
      expect(await findBarriers(page)).toEqual([]);
      await takeShot(page, `rejected-documents-${width}`);

      const section = page.getByRole("region", { name: "Payout of 1000 eur" });
      expect(await section.textContent()).toContain("The date is cut off");
      await section.getByRole("link", { name: "View the picture" }).click();
      await page.waitForURL(`**/dashboard/documents/${picture.id}/file`);
      expect(await page.evaluate<number>("document.images[0].naturalWidth")).toBeGreaterThan(0);
      await page.goBack();
      // A message of the browser's own image viewer.
      expect(errors.splice(0).filter((text) => !text.includes("inline style"))).toEqual([]);

      await section.getByLabel("Reason for approving").fill("The payer sent the date by e-mail");
      await section.getByRole("button", { name: "Approve with this reason" }).click();
      await page.getByRole("status").waitFor();
      expect(await page.getByRole("status").textContent()).toContain("approved");
      expect(await section.count()).toBe(0);
      expect((await fixture.show(picture)).supporting_document.status).toBe("approved");
      expect((await fixture.show(waiting)).supporting_document.status).toBe("rejected");
      expect(await findBarriers(page)).toEqual([]);
      await takeShot(page, `rejected-documents-approved-${width}`);
      expect(errors).toEqual([]);

      await fixture.upload(waiting, png("another file"));
      await page.getByLabel("Reason for approving").fill("It is the right month after all");
      await page.getByRole("button", { name: "Approve with this reason" }).click();
      expect(await page.getByRole("alert").textContent()).toContain("was replaced");
      expect(await findBarriers(page)).toEqual([]);
      await takeShot(page, `rejected-documents-replaced-${width}`);
    } finally {
      await close();
    }
  });
});
