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

const LOAD_MS_MAX = 2_000;

it("/docs/api leads to every operation, in a browser that reaches nothing but this server", async () => {
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
    expect(await page.locator("main h2").first().textContent()).toBe("Users");
    for (const { summary, method, path } of document.operations) {
      const row = page
        .getByRole("row")
        .filter({ hasText: `${method} ${path}` })
        .first();
      const target = await row
        .getByRole("link", { name: summary, exact: true })
        .getAttribute("href");
      const shown = await page.request.get(server.url + target);
      const anchor = target!.split("#")[1];
      expect(await shown.text(), target!).toContain(`id="${anchor}"`);
    }
    // And back to the guides.
    await page.goto(`${server.url}/docs/api/users`);
    await page.getByRole("main").getByRole("link", { name: "first payout" }).click();
    await page.waitForURL("**/docs/guides/first-payout");
    expect(errors).toEqual([]);
    expect(outside).toEqual([]);
  } finally {
    await browser.close();
  }
});

it("the largest page of the reference is there in two seconds, with little script", async () => {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    // Rendered once for all readers; the first of them waits for it.
    await page.goto(`${server.url}/docs/api`);
    await page.goto(`${server.url}/docs/api/invoices`, { waitUntil: "load" });
    const { load_ms, script_bytes } = await page.evaluate<{
      load_ms: number;
      script_bytes: number;
    }>(`({
      load_ms: performance.getEntriesByType("navigation")[0].loadEventEnd,
      script_bytes: performance.getEntriesByType("resource")
        .filter(({ name }) => name.endsWith(".js"))
        .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
    })`);
    expect(load_ms).toBeLessThan(LOAD_MS_MAX);
    expect(script_bytes).toBeLessThan(20_000);
  } finally {
    await browser.close();
  }
});
