import { afterAll, beforeAll, expect, it } from "vitest";
import { type ApiDocument, readDocument } from "./harness/api-document.ts";
import { openBrowser, watchErrors } from "./harness/browser.ts";

import { startTestServer, type TestServer } from "./harness/server.ts";

let server: TestServer;
let document: ApiDocument;
beforeAll(async () => {
  server = await startTestServer();
  document = readDocument(server.app.server);
});
afterAll(() => server.close());

it("/docs/api shows every operation in a browser that reaches nothing but this server", async () => {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(10_000);
    const errors = watchErrors(page);
    const outside: string[] = [];
    await page.route("**", (route) => {
      const { hostname } = new URL(route.request().url());
      if (hostname === "127.0.0.1") return route.continue();
      outside.push(route.request().url());
      return route.abort();
    });
    const answer = await page.goto(`${server.url}/docs/api`);
    expect(answer?.status()).toBe(200);
    // The first group is open; the others are opened as a reader would.
    await page.getByText(document.operations[0]!.summary).first().waitFor();
    const closed = page.getByRole("button", { name: /^Open Group/ });
    while ((await closed.count()) > 0) await closed.first().click();
    for (const { summary } of document.operations) {
      await page.getByText(summary, { exact: true }).first().waitFor();
    }
    expect(errors).toEqual([]);
    expect(outside).toEqual([]);
  } finally {
    await browser.close();
  }
});
