import sparticuz from "@sparticuz/chromium";
import { type Browser, chromium, type Page } from "playwright-core";

/** These would switch off what the tests of pages are about. */
const UNWANTED = new Set(["--disable-web-security", "--allow-running-insecure-content"]);

/** A headless Chromium from npm; whoever opens it closes it, in a `finally`. */
export async function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await sparticuz.executablePath(),
    args: sparticuz.args.filter((argument) => !UNWANTED.has(argument)),
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
