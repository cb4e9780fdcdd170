import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectFine, openCompany, ownerFields } from "../kyc/kyc-fixture.ts";
import { addWaiting, auditOf, waitForStatus } from "../kyc/review/review-fixture.ts";
import { listOf } from "../partners/screening/sample-lists.ts";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

const TEST_MS = 120_000;
const COMMENT = "Your document has expired. Send one that is still valid. A passport is best.";

const LISTED = { id: "listed", name: "Tesrik Varlomov", birth_date: "1954-10-07" };

let folder: string;
let stories: Stories;
let first: { user_id: string };
let second: { user_id: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sliproad-reviews-"));
  const list = join(folder, "targets.csv");
  await writeFile(list, listOf([LISTED]));
  stories = await openStories(["admin", "accountant"], {
    environment: { SLIPROAD_SCREENING_LISTS: list },
  });
  first = await addWaiting(stories.server, stories.server, { first_name: "Zenobia" });
  second = await addWaiting(stories.server, stories.server, { first_name: "Yusuf" });
}, TEST_MS);
afterAll(async () => {
  await stories?.close();
  await rm(folder, { recursive: true });
});

describe("identity reviews in the dashboard", () => {
  test("a reviewer approves one, asks the next again, and the person's page shows it", {
    timeout: TEST_MS,
  }, async () => {
    const { server, sliproad } = stories;
    await stories.visit("admin", WIDE, async (page) => {
      await page.goto(`${server.url}/dashboard/people`);
      await page.getByRole("link", { name: "Identity reviews" }).click();
      // The one who waits longest is first.
      await page.locator("tbody tr").nth(0).getByText("Zenobia Inventada").waitFor();
      await inspect(page, "reviews-queue");
      await page.locator("tbody tr").nth(0).click();
      await page.getByRole("heading", { level: 1, name: "Zenobia Inventada" }).waitFor();
      await page.getByText("21/04/1988").waitFor();
      await page.getByRole("button", { name: "Enlarge selfie" }).click();
      const viewer = page.getByRole("dialog", { name: "Selfie" });
      await viewer.getByRole("button", { name: "Larger" }).click();
      await viewer.getByText("150 %").waitFor();
      await viewer.getByRole("button", { name: "Turn to the right" }).click();
      await inspect(page, "review-picture");
      await viewer.getByRole("button", { name: "Close" }).click();
      await inspect(page, "review");
      const bar = page.getByRole("region", { name: "Decision" });
      await bar.getByRole("button", { name: "Approve" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();

      // The next one follows by itself.
      await page.getByText("Zenobia Inventada: Your decision is saved.").waitFor();
      await page.getByRole("heading", { level: 1, name: "Yusuf Inventada" }).waitFor();
      await bar.getByRole("button", { name: "Request a retry" }).click();
      const dialog = page.getByRole("dialog");
      const send = dialog.getByRole("button", { name: "Request a retry" });
      expect(await send.isDisabled()).toBe(true);
      await dialog.getByLabel("Begin with a reason").selectOption("Document expired");
      await dialog.getByLabel("What the person reads").fill(COMMENT);
      await dialog.getByText(`The person reads: “${COMMENT}”`).waitFor();
      await inspect(page, "review-decision");
      await send.click();
      await page.getByText("Nothing waits").waitFor();

      await page.goto(`${server.url}/dashboard/people/${second.user_id}`);
      await page.getByText(COMMENT).waitFor();
    });
    expect((await sliproad.users.show(first.user_id)).kyc.general.status).toBe("approved");
    expect((await sliproad.users.show(second.user_id)).kyc.general).toEqual({
      status: "retry_required",
      moderation_comment: COMMENT,
    });
    const read = (await auditOf(server, second.user_id)).map(({ action }) => action);
    expect(read).toEqual(expect.arrayContaining(["kyc.read", "kyc.read_file", "kyc.ask_again"]));
  });

  test("is read and decided on a telephone as well", { timeout: TEST_MS }, async () => {
    const { user_id } = await addWaiting(stories.server, stories.server, { first_name: "Xenia" });
    const path = `/dashboard/people/reviews/${stories.server.account_id}/${user_id}`;
    await stories.visit("admin", NARROW, async (page) => {
      await page.goto(`${stories.server.url}${path}`);
      await page.getByRole("button", { name: "Approve" }).waitFor();
      await inspect(page, "review-narrow");
    });
  });

  test("a business is shown with its owners, and what a list says of one of them", {
    timeout: TEST_MS,
  }, async () => {
    const { server } = stories;
    const { user_id, page: applicant } = await openCompany(server, {
      has_owners: "yes",
      ...ownerFields(1, { share: "60" }),
      ...ownerFields(2, {
        first_name: "Tesrik",
        last_name: "Varlomov",
        date_of_birth: "07/10/1954",
        nationality: "PT",
        share: "25.50",
      }),
    });
    await expectFine(applicant.submit());
    await waitForStatus(server, user_id, "awaiting_manual_review");
    const path = `/dashboard/people/reviews/${server.account_id}/${user_id}`;
    for (const look of [WIDE, NARROW]) {
      await stories.visit("admin", look, async (page) => {
        await page.goto(`${server.url}${path}`);
        await page.getByRole("heading", { level: 2, name: "Who acts for it" }).waitFor();
        const owners = page.getByRole("table", { name: "Owners of 25 % or more" });
        expect(await owners.locator("tbody td").allTextContents()).toEqual([
          ...["Ottilie Anteil", "05/06/1980", "Germany (DE)", "60 %"],
          ...["Tesrik Varlomov", "07/10/1954", "Portugal (PT)", "25.5 %"],
        ]);
        const screening = page.getByRole("region", { name: "Screening" });
        await screening
          .getByText("Tesrik Varlomov is like “Tesrik Varlomov” of the list")
          .waitFor();
        await screening.getByText("100 % alike, a match").waitFor();
        await screening.getByRole("link", { name: "the screening page" }).waitFor();
        expect(await page.getByText(user_id).count()).toBe(0);
        await page.getByRole("button", { name: "Copy id" }).waitFor();
        await inspect(page, `review-business-${look.width}`);
        await page.getByRole("button", { name: "Enlarge registration document" }).click();
        const viewer = page.getByRole("dialog", { name: "Registration document" });
        const frame = viewer.locator("iframe");
        await frame.waitFor();
        expect(await frame.getAttribute("src")).toMatch(/^blob:/);
        expect((await frame.boundingBox())!.height).toBeGreaterThan(600);
        await viewer.getByRole("link", { name: "Download" }).waitFor();
        await inspect(page, `review-pdf-${look.width}`);
      });
    }
  });

  test("says that the lists could not be asked, and asks again", { timeout: TEST_MS }, async () => {
    const { server } = stories;
    const { user_id } = await addWaiting(server, server, { first_name: "Walburga" });
    await stories.visit("admin", WIDE, async (page) => {
      const refusal = { error_code: "record_invalid", message: "Not now.", errors: [] };
      await page.route("**/screening_matches?*", (route) =>
        route.fulfill({ status: 422, json: refusal }),
      );
      await page.goto(`${server.url}/dashboard/people/reviews/${server.account_id}/${user_id}`);
      const screening = page.getByRole("region", { name: "Screening" });
      await screening.getByText("This could not be shown").waitFor();
      await page.unroute("**/screening_matches?*");
      await screening.getByRole("button", { name: "Try again" }).click();
      await screening.getByText("no open match").waitFor();
    });
  });

  test("an accountant can neither read nor decide", { timeout: TEST_MS }, async () => {
    const { server, members } = stories;
    const accountant = members.get("accountant")!;
    const path = `/dashboard/api/reviews/${server.account_id}/${second.user_id}`;
    for (const [method, url, body] of [
      ["GET", "/dashboard/api/reviews", undefined],
      ["GET", path, undefined],
      ["POST", path, { decision: "approve", seen: "x" }],
    ] as const) {
      expect((await accountant.call(method, url, body)).statusCode, `${method} ${url}`).toBe(403);
    }
    await stories.visit("accountant", WIDE, async (page) => {
      await page.goto(`${server.url}/dashboard/people`);
      await page.getByRole("row").nth(1).waitFor();
      expect(await page.getByRole("link", { name: "Identity reviews" }).count()).toBe(0);
    });
  });
});
