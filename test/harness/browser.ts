import sparticuz from "@sparticuz/chromium";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { findBrowser, NO_BROWSER } from "../../scripts/find-browser.mjs";

/** A fake camera with a test picture, which pages are allowed to use. */
const CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];

const QUIET = ["--disable-quic", "--disable-gpu", "--disable-component-update", "--disable-sync"];

const UNWANTED = new Set([
  // These would disable what the page tests check.
  "--disable-web-security",
  "--allow-running-insecure-content",
  // In a single process, the browser ends with the first context that is closed.
  "--single-process",
]);

/** A headless Chromium (found by scripts/find-browser.mjs); the caller closes it. */
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
 * Collects console errors and exceptions of the page. A document answered with 4xx causes one too;
 * a test that expects a 4xx checks its status and ignores these.
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
 * Accessibility problems that axe-core finds. It is evaluated and not added as a script, which the
 * pages' policy would refuse.
 */
export async function findBarriers(page: Page, options = "{}"): Promise<string[]> {
  const is_there = await page.evaluate<boolean>("typeof axe === 'object'");
  if (!is_there) await page.evaluate(`${axe.source}\nundefined`);
  // What is fading in has less contrast than it will have.
  await page.evaluate(ANIMATIONS_ENDED);
  const violations = await page.evaluate<Barrier[]>(
    `axe.run({ resultTypes: ['violations'], ...${options} }).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** Without those that go on as long as something loads; one that is cancelled has ended as well. */
const ANIMATIONS_ENDED = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => Number.isFinite(effect?.getComputedTiming().endTime))
  .map(({ finished }) => finished)).then(() => undefined)`;

type Barrier = { id: string; nodes: { html: string }[] };

/** For manual inspection: SLIPROAD_SHOTS names a directory for screenshots of the pages. */
export async function takeShot(page: Page, name: string): Promise<void> {
  const directory = process.env.SLIPROAD_SHOTS;
  if (directory) await page.screenshot({ path: `${directory}/${name}.png`, fullPage: true });
}
