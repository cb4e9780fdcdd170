import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addWaiting, auditOf } from "../kyc/review/review-fixture.ts";
import { inspect, NARROW, openStories, type Stories, WIDE } from "./browser-stories.ts";

const TEST_MS = 120_000;
const COMMENT = "Your document has expired. Send one that is still valid. A passport is best.";

let stories: Stories;
let first: { user_id: string };
let second: { user_id: string };

beforeAll(async () => {
  stories = await openStories(["admin", "accountant"]);
  first = await addWaiting(stories.server, stories.server, { first_name: "Zenobia" });
  second = await addWaiting(stories.server, stories.server, { first_name: "Yusuf" });
}, TEST_MS);
afterAll(() => stories?.close());

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
