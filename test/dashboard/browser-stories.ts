import type { Page } from "playwright-core";
import { expect } from "vitest";
import { Sliproad } from "../../sdk/src/index.ts";
import type { Role } from "../../src/accounts/model.ts";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { type ServerSettings, startTestServer, type TestServer } from "../harness/server.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

type Look = { width: number; colorScheme: "light" | "dark" };

export const WIDE: Look = { width: 1280, colorScheme: "light" };
export const NARROW: Look = { width: 360, colorScheme: "dark" };
/** Less than a test has, so that what was waited for is named. */
const WAIT_MS = 40_000;

/** A service and a browser in which members of its first account do their work. */
export type Stories = {
  server: TestServer;
  sliproad: Sliproad;
  members: ReadonlyMap<Role, BrowserMember>;
  /** What a member does in a window of their own, which must not report errors. */
  visit(
    role: Role,
    look: Look,
    story: (page: Page) => Promise<void>,
    expected_errors?: RegExp,
  ): Promise<void>;
  close(): Promise<void>;
};

export async function openStories(
  roles: readonly Role[],
  settings: Pick<ServerSettings, "environment" | "host_name"> = {},
): Promise<Stories> {
  const environment = { SLIPROAD_SECOND_FACTOR: "optional", ...settings.environment };
  const [server, browser] = await Promise.all([
    startTestServer({ ...settings, environment }),
    openBrowser(),
  ]);
  const members = new Map<Role, BrowserMember>();
  for (const role of roles) {
    const { account_id } = server;
    const email = `${role}@example.test`;
    members.set(role, await signInMember(server, { account_id, role, email }));
  }
  return {
    server,
    members,
    sliproad: new Sliproad({ baseUrl: server.url, apiKey: server.key }),
    // Input that is refused, with its problems at the fields, is answered with 422.
    visit: async (role, { width, colorScheme }, story, expected_errors = /status of 422/) => {
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
      const cookies = [...members.get(role)!.visitor.cookies];
      await context.addCookies(cookies.map(([name, value]) => ({ name, value, url: server.url })));
      const page = await context.newPage();
      page.setDefaultTimeout(WAIT_MS);
      const errors = watchErrors(page);
      await story(page);
      expect(errors.filter((text) => !expected_errors.test(text))).toEqual([]);
      await context.close();
    },
    close: async () => {
      try {
        await browser.close();
      } finally {
        await server.close();
      }
    },
  };
}

/** Once everything is loaded: takes a picture, and finds what keeps people from using the page. */
export async function inspect(page: Page, name: string): Promise<void> {
  await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
  await takeShot(page, name);
  expect(await findBarriers(page)).toEqual([]);
  expect(await scrollsSideways(page)).toBe(false);
}
