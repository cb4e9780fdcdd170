import sparticuz from "@sparticuz/chromium";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { findBrowser, NO_BROWSER } from "../../scripts/find-browser.mjs";

/** A camera that shows a test picture, and that pages are allowed to use. */
const CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];

const QUIET = ["--disable-quic", "--disable-gpu", "--disable-component-update", "--disable-sync"];

const UNWANTED = new Set([
  // These would switch off what the tests of pages are about.
  "--disable-web-security",
  "--allow-running-insecure-content",
  // In one process, the browser ends with the first context that is closed.
  "--single-process",
]);

/** A headless Chromium (scripts/find-browser.mjs says which); whoever opens it closes it. */
export async function openBrowser(): Promise<Browser> {
  const found = findBrowser();
  if (found === null) throw new Error(NO_BROWSER);
  if ("path" in found) {
    const args = [...QUIET, ...CAMERA];
    return chromium.launch({ executablePath: found.path, args, headless: true });
  }
  return chromium.launch({
    executablePath: await sparticuz.executablePath(),
    args: [...sparticuz.args.filter((argument) => !UNWANTED.has(argument)), ...CAMERA],
    headless: true,
  });
}

/**
 * Collects what the page complains about: console errors and exceptions. A document answered with
 * 4xx complains too; a test that provokes one asks for its status and leaves these out.
 */
export function watchErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(error.message));
  return errors;
}

/** True when the page is wider than its window. */
export function scrollsSideways(page: Page): Promise<boolean> {
  return page.evaluate(
    "document.documentElement.scrollWidth > document.documentElement.clientWidth",
  );
}

/**
 * What axe-core finds against those who use a keyboard, a screen reader or little contrast. It is
 * evaluated and not added as a script, which the policy of the pages would refuse.
 */
export async function findBarriers(page: Page): Promise<string[]> {
  const is_there = await page.evaluate<boolean>("typeof axe === 'object'");
  if (!is_there) await page.evaluate(`${axe.source}\nundefined`);
  const violations = await page.evaluate<Barrier[]>(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

type Barrier = { id: string; nodes: { html: string }[] };

/** For whoever wants to look: SLIPROAD_SHOTS names a directory for pictures of the pages. */
export async function takeShot(page: Page, name: string): Promise<void> {
  const directory = process.env.SLIPROAD_SHOTS;
  if (directory) await page.screenshot({ path: `${directory}/${name}.png`, fullPage: true });
}
