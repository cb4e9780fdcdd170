import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listApiUrls } from "../../src/docs/api/reference-text.ts";
import { listUrls } from "../../src/docs/load-pages.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";

let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  [server, browser] = await Promise.all([startTestServer(), openBrowser()]);
});
afterAll(async () => {
  try {
    await browser?.close();
  } finally {
    await server?.close();
  }
});

const PAGES = ["", "/guides/first-payout", "/reference/errors", "/api", "/api/offramps"];
const LOOKS = [
  { width: 1280, colorScheme: "light" as const },
  { width: 360, colorScheme: "dark" as const },
];

async function visit(
  options: { width?: number; colorScheme?: "light" | "dark"; javaScriptEnabled?: boolean },
  work: (page: Page) => Promise<void>,
): Promise<void> {
  const { width = 1280, ...rest } = options;
  const context = await browser.newContext({ viewport: { width, height: 740 }, ...rest });
  try {
    const page = await context.newPage();
    const errors = watchErrors(page);
    await work(page);
    expect(errors).toEqual([]);
  } finally {
    await context.close();
  }
}

describe.each(LOOKS)("on a screen of $width px, $colorScheme", ({ width, colorScheme }) => {
  it.each(PAGES)("/docs%s fits, and is accessible", async (path) => {
    await visit({ width, colorScheme }, async (page) => {
      await page.goto(`${server.url}/docs${path}`);
      expect(await scrollsSideways(page)).toBe(false);
      expect(await findBarriers(page)).toEqual([]);
      await takeShot(page, `docs${path.replaceAll("/", "-")}-${width}-${colorScheme}`);
    });
  });
});

/** The more difficult one; the pages above are tested in both. */
const NARROW_AND_DARK = LOOKS[1]!;
/** The layout and the colours are those of the pages above; here only the text differs. */
const OF_THE_TEXT = `{ runOnly: ['heading-order', 'empty-heading', 'image-alt', 'link-name',
  'list', 'listitem', 'definition-list', 'dlitem', 'duplicate-id-aria', 'empty-table-header',
  'scrollable-region-focusable', 'td-headers-attr', 'th-has-data-cells'] }`;
const OTHERS = [...listUrls(), ...listApiUrls()].filter(
  (url) => !PAGES.some((path) => url === `/docs${path}`),
);

it("every other page fits on a narrow, dark screen, and its text is accessible", async () => {
  const wrong: string[] = [];
  await visit(NARROW_AND_DARK, async (page) => {
    for (const path of OTHERS) {
      await page.goto(server.url + path);
      if (await scrollsSideways(page)) wrong.push(`${path} scrolls sideways`);
      wrong.push(...(await findBarriers(page, OF_THE_TEXT)).map((why) => `${path}: ${why}`));
      await takeShot(page, `${path.slice(1).replaceAll("/", "-")}-360-dark`);
    }
  });
  expect(wrong).toEqual([]);
}, 120_000);

it("a button copies the code next to it", async () => {
  await visit({}, async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${server.url}/docs/guides/first-payout`);
    const box = page.locator(".code-box").first();
    await box.getByRole("button", { name: "Copy this code" }).click();
    const copied = await page.evaluate("navigator.clipboard.readText()");
    expect(copied).toBe(await box.locator("pre").textContent());
  });
});

describe("the search", () => {
  it("finds results while typing, and returns to the list when the field is emptied", async () => {
    await visit({ width: 360 }, async (page) => {
      await page.goto(`${server.url}/docs`);
      const guides = page.getByRole("heading", { name: "Guides" });
      const box = page.getByRole("searchbox");
      await box.fill("quote_expired");
      const first = page.locator("#results a").first();
      await first.waitFor();
      expect(await guides.isVisible()).toBe(false);
      await takeShot(page, "docs-search-360");
      expect(await findBarriers(page)).toEqual([]);
      await box.fill("");
      await guides.waitFor();
      await box.fill("quote_expired");
      await first.click();
      await page.waitForURL("**/docs/reference/errors#quote_expired");
    });
  });

  it("works without scripts", async () => {
    await visit({ javaScriptEnabled: false }, async (page) => {
      await page.goto(`${server.url}/docs/guides/first-payout`);
      await page.getByRole("searchbox").fill("iban");
      await page.getByRole("searchbox").press("Enter");
      await page.locator("#results a").first().waitFor();
      expect(page.url()).toBe(`${server.url}/docs?q=iban`);
    });
  });
});
