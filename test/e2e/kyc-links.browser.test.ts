import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_MS } from "../../src/platform/durations.ts";
import type { HttpVisitor } from "../harness/http-visitor.ts";
import { addWaiting, decide, signInAs } from "../kyc/review/review-fixture.ts";
import { openStage, type Stage, WIDTHS } from "./kyc-stage.ts";
import { addFile, chooseDocument, fillAddress, fillDate, goOn, heading } from "./kyc-walk.ts";

const ANA = { beneficiary_type: "individual", first_name: "Ana", last_name: "Sample" };

let stage: Stage;
let reviewer: HttpVisitor;
beforeAll(async () => {
  stage = await openStage();
  const { server } = stage;
  reviewer = (await signInAs(server, server.account_id, "admin")).visitor;
});
afterAll(() => stage?.close());

/** Sets a user's status, like a partner would. */
async function setStatus(user_id: string, status: string): Promise<void> {
  const body = { kyc: { status } };
  const set = await stage.server.call("PATCH", `/sandbox/users/${user_id}/kycs`, body);
  expect(set.status, set.text).toBe(200);
}

test("opening the link, by a messenger's preview or as a page, starts nothing", async () => {
  const user_id = await stage.addUser(ANA);
  const link = await stage.makeLink(user_id);
  const looked = await fetch(link);
  expect(looked.status).toBe(200);
  expect(looked.headers.get("content-security-policy")).toContain("script-src 'self'");
  expect(await stage.statusOf(user_id)).toBe("not_started");
  await stage.visit(360, async ({ page }) => {
    await page.goto(link);
    await page.getByRole("button", { name: "Start" }).click();
    await heading(page, "About you").waitFor();
    expect(await stage.statusOf(user_id)).toBe("not_started");
    await page.getByLabel("Phone").fill("+351 912 345 678");
    await page.getByLabel("Nationality").focus();
    await expect.poll(() => stage.statusOf(user_id)).toBe("initiated");
  });
});

test("without script the page says what it needs", async () => {
  const link = await stage.makeLink(await stage.addUser(ANA));
  const context = await stage.browser.newContext({ javaScriptEnabled: false });
  try {
    const page = await context.newPage();
    await page.goto(link);
    const words = page.locator(".without-script");
    await words.waitFor();
    expect(await words.textContent()).toContain("needs JavaScript");
  } finally {
    await context.close();
  }
});

describe.each(WIDTHS)("on a screen of %i px", (width) => {
  test("a forged and a replaced link show pages that say so", async () => {
    const user_id = await stage.addUser(ANA);
    const old = await stage.makeLink(user_id);
    const link = await stage.makeLink(user_id);
    await stage.visit(width, async ({ page, check }) => {
      const forged = await page.goto(`${stage.server.url}/kyc/${"A".repeat(43)}`);
      expect(forged?.status()).toBe(404);
      await heading(page, "This link is not valid").waitFor();
      await check("link-forged");
      const replaced = await page.goto(old);
      expect(replaced?.status()).toBe(410);
      await page.getByText("This link was replaced by a newer one.").waitFor();
      await check("link-replaced");
      expect((await page.goto(link))?.status()).toBe(200);
    });
  });

  test("every result page says what happened and what is next", async () => {
    const states = {
      application_queued: "Thank you, we have everything",
      awaiting_manual_review: "A person will review your application",
      approved: "Your identity is confirmed",
      suspended: "Your verification is on hold",
      failed: "We could not confirm your identity",
    };
    // The link keeps showing the result: one user goes through all states.
    const lives = [
      ["application_queued", "awaiting_manual_review", "approved", "suspended"],
      ["failed"],
    ] as const;
    await stage.visit(width, async ({ page, errors, check }) => {
      for (const life of lives) {
        const user_id = await stage.addUser(ANA);
        const link = await stage.makeLink(user_id);
        for (const status of life) {
          await setStatus(user_id, status);
          await page.goto(link);
          await heading(page, states[status]).waitFor();
          await page.getByRole("heading", { name: "What happens next" }).waitFor();
          await check(`result-${status}`);
        }
      }
      expect(errors).toEqual([]);
    });
  });
});

test("asked again, a person reads why, sees their data, and submits it again", async () => {
  const known = { date_of_birth: "21/04/1988" };
  const { user_id, token, path } = await addWaiting(stage.server, stage.server, known);
  await stage.visit(360, async ({ page, check }) => {
    await page.goto(`${stage.server.url}/kyc/${token}`);
    await heading(page, "A person will review your application").waitFor();
    await decide(reviewer, path, "ask_again", "The photo page is cut off.");
    await heading(page, "We need something more from you").waitFor();
    await page.getByText("The photo page is cut off.").waitFor();
    await page.getByText("Ask demo for a new link.").waitFor();
    await check("result-again");

    await page.goto(await stage.makeLink(user_id));
    await page.getByText("The photo page is cut off.").waitFor();
    await check("welcome-again");
    await page.getByRole("button", { name: "Start" }).click();
    await fillDate(page, "21", "April", "1988");
    await page.getByRole("button", { name: "Show my details" }).click();
    await heading(page, "About you").waitFor();
    expect(await page.getByLabel("First names").inputValue()).toBe("Marisol");
    await goOn(page, "Where you live");
    await goOn(page, "Your identity document");
    await chooseDocument(page, "Passport");
    await addFile(page, "document_front", stage.photos.front);
    await goOn(page, "A photo of your face");
    await addFile(page, "selfie", stage.photos.face);
    await goOn(page, "Review and submit");
    await page.getByRole("button", { name: "Submit" }).click();
    await heading(page, "A person will review your application").waitFor();
    expect(await stage.statusOf(user_id)).toBe("awaiting_manual_review");
  });
});

test("two links in two tabs at once: each person's data is stored for that person", async () => {
  const people = [
    { first_name: "Alice", city: "Alicante", user_id: "" },
    { first_name: "Dora", city: "Dortmund", user_id: "" },
  ];
  await stage.visit(1280, async ({ context }) => {
    const pages: Page[] = [];
    for (const person of people) {
      person.user_id = await stage.addUser({ ...ANA, first_name: person.first_name });
      const page = await context.newPage();
      await page.goto(`${await stage.makeLink(person.user_id)}#about`);
      await heading(page, "About you").waitFor();
      pages.push(page);
    }
    const both = async (work: (page: Page, city: string) => Promise<void>) => {
      for (const [at, page] of pages.entries()) await work(page, people[at]!.city);
    };
    await both(async (page) => {
      await fillDate(page, "21", "April", "1988");
      await page.getByLabel("Nationality").selectOption("Portugal");
      await page.getByLabel("Phone").fill("+351 912 345 678");
      await goOn(page, "Where you live");
    });
    await both(async (page, city) => {
      await fillAddress(page);
      await page.getByLabel("Town or city").fill(city);
      await goOn(page, "Your identity document");
    });
    await both(async (page) => {
      await chooseDocument(page, "Passport");
      await addFile(page, "document_front", stage.photos.front);
      await goOn(page, "A photo of your face");
    });
    await both(async (page, city) => {
      await addFile(page, "selfie", stage.photos.face);
      await goOn(page, "Review and submit");
      await page.getByText(city).waitFor();
      // The images are shown as well: their URLs name the link.
      const look = "[...document.querySelectorAll('main img')].map((one) => one.naturalWidth > 0)";
      await expect.poll(() => page.evaluate(look)).toEqual([true, true]);
    });
    await both(async (page) => {
      await page.getByRole("button", { name: "Submit" }).click();
      await heading(page, "A person will review your application").waitFor();
    });
  });
  for (const { user_id, first_name, city } of people) {
    await setStatus(user_id, "approved");
    const shown = await stage.server.call("GET", `/users/${user_id}`);
    expect(shown.body.user).toMatchObject({ first_name, city });
  }
});

/** Moves the time of the whole server, so it must be the last test. */
test("a link that expires while the page is open shows what to do", async () => {
  const link = await stage.makeLink(await stage.addUser(ANA));
  await stage.visit(360, async ({ page, check }) => {
    await page.goto(link);
    await page.getByRole("button", { name: "Start" }).click();
    await heading(page, "About you").waitFor();
    await stage.server.call("POST", "/sandbox/clock", { advance_ms: DAY_MS + 1 });
    await page.getByLabel("Phone").fill("+351 912 345 678");
    await page.getByLabel("Nationality").focus();
    await heading(page, "This link no longer works").waitFor();
    await page.getByText("This link has expired").waitFor();
    await check("link-expired-open");
    const again = await page.goto(link);
    expect(again?.status()).toBe(410);
    await page.getByText("This link has expired").waitFor();
    await check("link-expired");
  });
});
