import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../harness/wait-for.ts";
import { LONG_MS, openStage, type Stage, WIDTHS } from "./kyc-stage.ts";
import { addFile, chooseDocument, fillAddress, fillDate, goOn, heading, PDF } from "./kyc-walk.ts";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

describe.each(WIDTHS)("on a screen of %i px", (width) => {
  test(
    "a business gives its data, its register extract and one person, and is under review",
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
        await check("business-review");
        await page.getByRole("button", { name: "Submit" }).click();
        await waitFor(async () => (await stage.statusOf(user_id)) === "awaiting_manual_review");
        await heading(page, "A person will review your application").waitFor();
        expect(errors).toEqual([]);
        expect([...hosts]).toEqual([new URL(stage.server.url).host]);
      });
    },
    LONG_MS,
  );
});
