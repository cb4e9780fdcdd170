import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { openCompany, ownerFields } from "../kyc/kyc-fixture.ts";
import { LONG_MS, openStage, type Stage, type Visit, WIDTHS } from "./kyc-stage.ts";
import { addFile, chooseDocument, fillAddress, fillDate, goOn, heading, PDF } from "./kyc-walk.ts";

/** Two remain of three; the first attempt leaves out what is asked for. */
async function nameOwners(page: Page, check: Visit["check"]): Promise<void> {
  const question = page.getByLabel("Does anyone own 25 % or more of the company?");
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByText("Please choose: does anyone own").waitFor();
  await question.selectOption("No one owns 25 % or more");
  expect(await page.getByRole("group", { name: "Owner 1" }).count()).toBe(0);
  await question.selectOption("Yes");
  const first = page.getByRole("group", { name: "Owner 1", exact: true });
  await first.getByLabel("Share in per cent").fill("24");
  await page.getByRole("button", { name: "Save and continue" }).click();
  await page.getByText("5 things need your attention.").waitFor();
  await first.getByText("Please enter a number from 25 to 100").waitFor();
  await check("business-owner-problems");
  await fillOwner(first, ["Ottilie", "5", "June", "1980", "Germany", "60"]);

  // The keyboard goes on in the new owner, and after a removed one at the button.
  const add = page.getByRole("button", { name: "Add another owner" });
  await add.press("Enter");
  const second = page.getByRole("group", { name: "Owner 2", exact: true });
  await expectFocus(second.getByLabel("First names"));
  await add.click();
  await page.getByRole("button", { name: "Remove owner 2" }).press("Enter");
  await expectFocus(add);
  await fillOwner(second, ["Quirin", "1", "May", "1975", "Portugal", "40,01"]);
  await page.getByRole("button", { name: "Save and continue" }).click();
  await second.getByText("All shares together are more than 100 %.").waitFor();
  await second.getByLabel("Share in per cent").fill("33,33");
  await check("business-owners");
}

async function fillOwner(owner: Locator, answers: string[]): Promise<void> {
  const [first_name, day, month, year, nationality, share] = answers as [string, ...string[]];
  await owner.getByLabel("First names").fill(first_name);
  await owner.getByLabel("Last name").fill("Anteil");
  await owner.getByLabel("Day").fill(day!);
  await owner.getByLabel("Month").selectOption(month!);
  await owner.getByLabel("Year").fill(year!);
  await owner.getByLabel("Nationality").selectOption(nationality!);
  await owner.getByLabel("Share in per cent").fill(share!);
}

async function expectFocus(element: Locator): Promise<void> {
  await element.and(element.page().locator(":focus")).waitFor();
}

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

describe.each(WIDTHS)("on a screen of %i px", (width) => {
  test(
    "a business gives its data, its register extract, its owners and one person",
    async () => {
      const user_id = await stage.addUser({
        beneficiary_type: "business",
        company_name: "Invented Payroll Ltd",
      });
      await stage.visit(width, async ({ page, errors, hosts, check }) => {
        await page.goto(await stage.makeLink(user_id));
        await heading(page, "demo asks you to verify your company").waitFor();
        await page.getByRole("button", { name: "Start" }).click();
        await heading(page, "Your company").waitFor();
        await check("business-company");
        // No birth date is known to unmask it: it is kept, or replaced.
        await page.getByText("I•••").waitFor();
        await page.getByLabel("Registration number").fill("HRB 123456");
        await page.getByLabel("What does the company do?").fill("Pays people");
        await goOn(page, "The company's address");
        await fillAddress(page);
        await goOn(page, "Proof of registration");
        await addFile(page, "registration_document", PDF);
        await check("business-registration");
        await page.reload();
        await page.getByRole("link", { name: "Open the PDF" }).waitFor();
        await goOn(page, "Who owns the company?");
        await nameOwners(page, check);
        await goOn(page, "Who controls the company?");
        await check("business-person");
        await page.getByLabel("First names").fill("Ana Maria");
        await page.getByLabel("Last name").fill("Sample");
        await fillDate(page, "7", "April", "1988");
        await page.getByLabel("Nationality").selectOption("Portugal");
        await goOn(page, "The person's identity document");
        await chooseDocument(page, "Passport");
        await addFile(page, "document_front", stage.photos.front);
        expect(await page.getByRole("heading", { name: "Back side" }).count()).toBe(0);
        await goOn(page, "A photo of the person's face");
        await addFile(page, "selfie", stage.photos.face);
        await goOn(page, "Review and submit");
        await page.getByText("April 7, 1988").waitFor();
        const owners = page.getByRole("region", { name: "Owners" });
        expect(await owners.locator("h3").allTextContents()).toEqual(["Owner 1", "Owner 2"]);
        expect(await owners.locator("dd").allTextContents()).toEqual([
          "Yes",
          ...["Ottilie", "Anteil", "June 5, 1980", "Germany", "60 %"],
          ...["Quirin", "Anteil", "May 1, 1975", "Portugal", "33.33 %"],
        ]);
        await check("business-review");
        await page.getByRole("button", { name: "Submit" }).click();
        await waitFor(async () => (await stage.statusOf(user_id)) === "awaiting_manual_review");
        await heading(page, "A person will review your application").waitFor();
        // The sum of the shares is refused by the service.
        expect(errors.filter((text) => !text.includes("status of 422"))).toEqual([]);
        expect([...hosts]).toEqual([new URL(stage.server.url).host]);
      });
    },
    LONG_MS,
  );
});

test(
  "owners are hidden in another browser, where a new share asks for the hidden ones",
  async () => {
    const { token } = await openCompany(stage.server, {
      has_owners: "yes",
      ...ownerFields(1, { share: "60" }),
      ...ownerFields(2, { first_name: "Quirin", share: "30" }),
    });
    await stage.visit(360, async ({ page, check }) => {
      await page.goto(`${stage.server.url}/kyc/${token}#owners`);
      const [first, second] = ["Owner 1", "Owner 2"].map((name) =>
        page.getByRole("group", { name, exact: true }),
      ) as [Locator, Locator];
      await first.getByText("O•••").waitFor();
      await second.getByText("Q•••").waitFor();
      await check("business-owners-hidden");
      await second.getByRole("button", { name: "Change: Share in per cent" }).click();
      await second.getByLabel("Share in per cent").fill("50");
      await page.getByRole("button", { name: "Save and continue" }).click();
      await first.getByText("Enter this share again.").waitFor();
      await expectFocus(first.getByLabel("Share in per cent"));
      await first.getByLabel("Share in per cent").fill("50");
      await goOn(page, "Who controls the company?");

      // A hidden answer can be replaced; then nobody is named any more.
      await page.getByRole("button", { name: "Back" }).click();
      await page.getByRole("button", { name: "Change: Does anyone own" }).click();
      const question = page.getByLabel("Does anyone own 25 % or more of the company?");
      await question.selectOption("No one owns 25 % or more");
      await goOn(page, "Who controls the company?");
      await page.goto(`${stage.server.url}/kyc/${token}#review`);
      const owners = page.getByRole("region", { name: "Owners" });
      await owners.getByText("No one owns 25 % or more", { exact: true }).waitFor();
      expect(await owners.locator("h3").count()).toBe(0);
    });
  },
  LONG_MS,
);
