import { afterAll, beforeAll, expect, test } from "vitest";
import { png } from "../kyc/kyc-fixture.ts";
import {
  type DocumentFixture,
  openDocumentFixture,
  PDF,
  type TestOfframp,
} from "../offramps/documents/document-fixture.ts";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

let stories: Stories;
let fixture: DocumentFixture;

beforeAll(async () => {
  stories = await openStories(["approver"], { environment: { SLIPROAD_DOCUMENTS: "review" } });
  fixture = await openDocumentFixture(stories.server);
});
afterAll(() => stories?.close());

async function addWaiting(amount: number, file: Buffer): Promise<TestOfframp> {
  const offramp = await fixture.addOfframp({ amount });
  expect((await fixture.upload(offramp, file)).status).toBe(200);
  await fixture.execute(offramp);
  await fixture.waitForStatus(offramp, "ongoing_checks");
  return offramp;
}

test.each([WIDE, NARROW])("documents are checked and rejected, $width", async (look) => {
  const good = await addWaiting(1000, png(`an invoice ${look.width}`));
  const bad = await addWaiting(1250, PDF);
  const { url } = stories.server;
  await stories.visit("approver", look, async (page) => {
    await page.goto(`${url}/dashboard/overview`);
    await page.getByRole("link", { name: /documents to check/ }).click();
    await page.getByRole("row").nth(2).waitFor();
    await inspect(page, `documents-${look.width}`);
    await page.goto(`${url}/dashboard/documents/${good.id}`);
    await page.getByRole("button", { name: "Show the picture" }).click();
    const picture = page.getByRole("img", { name: "The attached document" });
    await picture.waitFor();
    const width = () => page.evaluate<number>("document.querySelector('img.preview').naturalWidth");
    await expect.poll(width).toBeGreaterThan(0);
    await inspect(page, `document-${look.width}`);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByRole("button", { name: "Approve the document" }).click();
    await page.waitForURL("**/dashboard/documents");

    await page.goto(`${url}/dashboard/documents/${bad.id}`);
    await page.getByRole("button", { name: "Show the PDF" }).click();
    await page.locator('iframe[title="The attached document"]').waitFor();
    await page.getByRole("link", { name: "Download" }).waitFor();
    await page.getByRole("button", { name: "Reject" }).click();
    const dialog = page.getByRole("dialog");
    const reject = dialog.getByRole("button", { name: "Reject the document" });
    expect(await reject.isDisabled()).toBe(true);
    await dialog.getByLabel("Reason").fill("This is last month's payslip");
    await inspect(page, `document-reject-${look.width}`);
    await reject.click();
    await page.waitForURL("**/dashboard/documents");
    await page.getByRole("tab", { name: "Rejected" }).click();
    const row = page.getByRole("row").filter({ hasText: "This is last month's payslip" }).first();
    await inspect(page, `documents-rejected-${look.width}`);
    await row.click();
    await page.waitForURL(`**/documents/${bad.id}`);
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await dialog.getByLabel("Reason").fill("The payer called: the month is right");
    // Somebody replaces the file while this one is looked at.
    await fixture.upload(bad, png(`another file ${look.width}`));
    await dialog.getByRole("button", { name: "Approve the document" }).click();
    await dialog.getByRole("alert").getByText("was replaced").waitFor();
  });
  await fixture.waitForStatus(good, "fiat_sent");
  expect((await fixture.show(bad)).supporting_document.status).toBe("not_checked");
});
