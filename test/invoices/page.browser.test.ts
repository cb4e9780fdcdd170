import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { good } from "../offramps/story.ts";
import { create, show } from "./invoice-fixture.ts";

let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startTestServer(), openBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

it.each([360, 1200])(
  "an invoice's page fits %s points, is accessible, and works",
  async (width) => {
    const invoice = good(
      await create(server, {
        convert: true,
        note: "<b>Thanks</b>",
        buyerInfo: { email: "a@example.com", businessName: "Zoë Widgets ".repeat(6) },
        paymentTerms: { dueDate: "2026-12-31" },
      }),
    );
    const context = await browser.newContext({ viewport: { width, height: 740 } });
    try {
      const page = await context.newPage();
      const errors = watchErrors(page);
      await page.goto(invoice.invoiceLinks.view);
      await takeShot(page, `invoice-${width}`);
      expect(await scrollsSideways(page)).toBe(false);
      expect(await findBarriers(page)).toEqual([]);
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByText("Accepted").waitFor();
      expect(errors).toEqual([]);
      expect((await show(server, invoice.id)).status).toBe("accepted");
    } finally {
      await context.close();
    }
  },
);
