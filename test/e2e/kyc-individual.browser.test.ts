import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { waitFor } from "../harness/wait-for.ts";
import { LONG_MS, openStage, type Stage, type Visit, WIDTHS } from "./kyc-stage.ts";
import {
  addFile,
  chooseDocument,
  fillAbout,
  fillAddress,
  fillDate,
  goOn,
  heading,
} from "./kyc-walk.ts";

const ANA = { beneficiary_type: "individual", first_name: "Ana", last_name: "Sample" };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

/** A quote of this user with a payout, complete except for the proof of identity. */
async function addPayout(user_id: string): Promise<string> {
  const { server } = stage;
  const payment_detail_id = await addPaymentDetail(server, user_id, "eur");
  const quote_id = await addQuote(server, user_id);
  const made = await server.call("POST", `/users/${user_id}/quotes/${quote_id}/offramps`, {
    offramps: [{ payment_detail_id, destination_amount: 100, destination_currency: "eur" }],
  });
  expect(made.status, made.text).toBe(200);
  return quote_id;
}

async function walkToReview({ page, check }: Visit): Promise<void> {
  await page.getByRole("button", { name: "Start" }).waitFor();
  await check("welcome");
  await page.getByRole("button", { name: "Start" }).click();
  await heading(page, "About you").waitFor();
  await check("about");
  await fillAbout(page);
  await goOn(page, "Where you live");
  await check("address");

  // A phone low on memory may end the page any time: typed values are still there.
  await page.getByLabel("Country").selectOption("Portugal");
  await page.getByLabel("Street and number").fill("12 Invented Street");
  const saved = page.waitForResponse((answer) =>
    (answer.request().postData() ?? "").includes("12 Invented Street"),
  );
  await page.getByLabel("Town or city").focus();
  await saved;
  await page.reload();
  await heading(page, "Where you live").waitFor();
  expect(await page.getByLabel("Street and number").inputValue()).toBe("12 Invented Street");

  await fillAddress(page);
  await goOn(page, "Your identity document");
  await check("document");
  await chooseDocument(page, "Identity card");
  await addFile(page, "document_front", stage.photos.front);
  await addFile(page, "document_back", stage.photos.back);
  await check("document-added");
  await goOn(page, "A photo of your face");
  await check("selfie");
  await page.getByRole("button", { name: /Take a photo|Use the camera/ }).click();
  await page.getByText("Hold your face inside the oval.").waitFor();
  await check("camera");
  await page.getByRole("button", { name: "Take the photo" }).click();
  await check("camera-taken");
  await page.getByRole("button", { name: "Use this photo" }).click();
  await page.locator("#slot-selfie").getByText("Added").waitFor();
  await goOn(page, "Review and submit");
  await check("review");
}

/** What a reviewer does in the dashboard, in a separate browser. */
async function approve(width: number, user_id: string): Promise<void> {
  const { server } = stage;
  const { admin_email, admin_password } = server.core.first_start.created!;
  await stage.visit(width, async ({ page, errors, check }) => {
    await page.goto(`${server.url}/sign-in`);
    await page.getByLabel("E-mail").fill(admin_email);
    await page.getByLabel("Password").fill(admin_password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL("**/dashboard/**");
    await page.goto(`${server.url}/dashboard/people/reviews`);
    await heading(page, "Identity reviews").waitFor();
    const waiting = page.locator("tbody tr").nth(0);
    await waiting.waitFor();
    await check("reviewer-queue");
    await waiting.click();
    await page.waitForURL(`**/${user_id}`);
    await page.getByText("1100-148").waitFor();
    await page.getByRole("img", { name: "Document front" }).waitFor();
    await check("reviewer-view");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await page.getByText("Your decision is saved.").waitFor();
    await check("reviewer-done");
    expect(errors).toEqual([]);
  });
}

describe.each(WIDTHS)("on a screen of %i px", (width) => {
  test(
    "a person completes the form, a reviewer approves, and the refused quote is paid",
    async () => {
      const user_id = await stage.addUser(ANA);
      const quote_id = await addPayout(user_id);
      const refused = await execute(stage.server, user_id, quote_id);
      expect(refused.body.error_code).toBe("not_yet_passed_kyc_kyb");

      await stage.visit(width, async (visit) => {
        const { page, errors, hosts } = visit;
        await page.goto(await stage.makeLink(user_id));
        await heading(page, "demo asks you to verify your identity").waitFor();
        await walkToReview(visit);
        for (const text of ["Ana Maria", "April 21, 1988", "Lisbon", "1100-148", "Identity card"]) {
          await page.getByText(text, { exact: true }).waitFor();
        }
        await page.getByRole("button", { name: "Submit" }).click();
        await heading(page, /we have everything|A person will review your application/).waitFor();
        await waitFor(async () => (await stage.statusOf(user_id)) === "awaiting_manual_review");
        await heading(page, "A person will review your application").waitFor();

        await approve(width, user_id);
        expect(await stage.statusOf(user_id)).toBe("approved");
        await page.reload();
        await heading(page, "Your identity is confirmed").waitFor();
        expect(errors).toEqual([]);
        expect([...hosts]).toEqual([new URL(stage.server.url).host]);
      });
      const executed = await execute(stage.server, user_id, quote_id);
      expect(executed.status, executed.text).toBe(200);
    },
    LONG_MS,
  );

  test("known data is masked until the birth date is confirmed, then only reviewed", async () => {
    const user_id = await stage.addUser({
      ...{ beneficiary_type: "individual", first_name: "Marisol", last_name: "Inventada" },
      ...{ date_of_birth: "21/04/1988", address_line1: "7 Secret Lane", country: "US" },
    });
    await stage.visit(width, async ({ page, check }) => {
      const seen: string[] = [];
      page.on("response", async (answer) => {
        if (answer.url().includes("/kyc/")) seen.push(await answer.text().catch(() => ""));
      });
      await page.goto(await stage.makeLink(user_id));
      await page.getByRole("button", { name: "Start" }).click();
      await heading(page, "Confirm that it is you").waitFor();
      await fillDate(page, "22", "April", "1988");
      await page.getByRole("button", { name: "Show my details" }).click();
      await page.getByText("This date does not match our records.").waitFor();
      await check("confirm-wrong");
      await page.getByRole("button", { name: "Continue without" }).click();
      await heading(page, "About you").waitFor();
      await page.getByText("M•••").waitFor();
      await check("about-masked");
      expect(seen.join()).not.toMatch(/Marisol|Inventada|1988-04-21|Secret Lane/);

      await page.goBack();
      await fillDate(page, "21", "April", "1988");
      await page.getByRole("button", { name: "Show my details" }).click();
      await heading(page, "About you").waitFor();
      expect(await page.getByLabel("First names").inputValue()).toBe("Marisol");
      expect(await page.getByLabel("Year").inputValue()).toBe("1988");
    });
  });
});
