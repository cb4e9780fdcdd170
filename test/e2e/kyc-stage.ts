import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect } from "vitest";
import {
  findBarriers,
  openBrowser,
  scrollsSideways,
  takeShot,
  watchErrors,
} from "../harness/browser.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { type Photos, takePhotos } from "./kyc-walk.ts";

/** A phone and a desktop. */
export const WIDTHS = [360, 1280];
/** For a long test with many page checks on a busy machine. */
export const LONG_MS = 90_000;

export type Visit = {
  page: Page;
  context: BrowserContext;
  /** The page's console errors; an intended failed request counts too. */
  errors: string[];
  /** Hosts that received requests. */
  hosts: Set<string>;
  /** Checks accessibility and that nothing overflows the window. */
  check: (name: string) => Promise<void>;
};

export type Stage = {
  server: TestServer;
  browser: Browser;
  photos: Photos;
  visit: (width: number, work: (visit: Visit) => Promise<void>) => Promise<void>;
  addUser: (fields: Record<string, unknown>) => Promise<string>;
  /** A new user at a step of the page. */
  openAt: (page: Page, fields: Record<string, unknown>, step: string) => Promise<string>;
  /** A new link for a user; the previous one no longer works. */
  makeLink: (user_id: string) => Promise<string>;
  statusOf: (user_id: string) => Promise<string>;
  close: () => Promise<void>;
};

/** The whole service and a browser, for tests of the KYC page. */
export async function openStage(): Promise<Stage> {
  const server = await startTestServer();
  let browser: Browser | undefined;
  const close = async () => {
    try {
      await browser?.close();
    } finally {
      await server.close();
    }
  };
  try {
    browser = await openBrowser();
    return {
      ...actions(server, browser),
      server,
      browser,
      photos: await takePhotos(browser),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function actions(server: TestServer, browser: Browser) {
  const addUser = async (fields: Record<string, unknown>) => {
    const email = `person-${crypto.randomUUID()}@example.com`;
    const made = await server.call("POST", "/users", { user: { email, ...fields } });
    expect(made.status, made.text).toBe(200);
    return made.body.user.id as string;
  };
  const makeLink = async (user_id: string) => {
    const made = await server.call("POST", `/users/${user_id}/kycs`);
    expect(made.status, made.text).toBe(200);
    return made.body.kyc.url as string;
  };
  return {
    addUser,
    makeLink,
    openAt: async (page: Page, fields: Record<string, unknown>, step: string) => {
      const user_id = await addUser(fields);
      await page.goto(`${await makeLink(user_id)}#${step}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      return user_id;
    },
    visit: async (width: number, work: (visit: Visit) => Promise<void>) => {
      const is_phone = width < 600;
      const viewport = { width, height: 740 };
      const context = await browser.newContext({
        viewport,
        hasTouch: is_phone,
        isMobile: is_phone,
      });
      try {
        await work(watch(await context.newPage(), context, width));
      } finally {
        await context.close();
      }
    },
    statusOf: async (user_id: string) => {
      const shown = await server.call("GET", `/users/${user_id}`);
      return shown.body.user.kyc.general.status as string;
    },
  };
}

function watch(page: Page, context: BrowserContext, width: number): Visit {
  const hosts = new Set<string>();
  page.setDefaultTimeout(20_000);
  page.on("request", (request) => {
    const { host } = new URL(request.url());
    if (host !== "") hosts.add(host);
  });
  const check = async (name: string) => {
    expect(await findBarriers(page), name).toEqual([]);
    expect(await scrollsSideways(page), name).toBe(false);
    await takeShot(page, `${width}-${name}`);
  };
  return { page, context, errors: watchErrors(page), hosts, check };
}
