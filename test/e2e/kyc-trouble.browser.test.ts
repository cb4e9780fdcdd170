import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LONG_MS, openStage, type Stage, WIDTHS } from "./kyc-stage.ts";
import { addFile, chooseDocument, fillAbout, fillAddress, goOn, heading } from "./kyc-walk.ts";

const ANA = { beneficiary_type: "individual", first_name: "Ana", last_name: "Sample" };
const FRONT = "input[type=file][data-slot=document_front]";

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage?.close());

const openAt = (page: Page, step: string) => stage.openAt(page, ANA, step);

function focusedId(page: Page): Promise<string> {
  return page.evaluate<string>("document.activeElement.id");
}

describe.each(WIDTHS)("on a screen of %i px", (width) => {
  test("missing and wrong values are reported at their field, and the first gets the focus", async () => {
    await stage.visit(width, async ({ page, errors, check }) => {
      await openAt(page, "address");
      await page.getByLabel("Country").selectOption("United States");
      await page.getByLabel("State or region").waitFor();
      await page.getByLabel("Postcode").fill("1100-148");
      await page.getByRole("button", { name: "Save and continue" }).click();
      await page.getByText("4 things need your attention.").waitFor();
      expect(await focusedId(page)).toBe("field-address_line1");
      const postcode = page.getByRole("textbox", { name: "Postcode" });
      expect(await postcode.getAttribute("aria-invalid")).toBe("true");
      await page.getByText("This is not a valid postcode in United States.").waitFor();
      await check("address-wrong");
      await page.getByLabel("Country").selectOption("Portugal");
      expect(await page.getByLabel("State or region").count()).toBe(0);
      await page.getByText("For example 1100-148").waitFor();
      await page.getByText("2 things need your attention.").waitFor();
      const countries = await page.getByLabel("Country").textContent();
      expect(countries).not.toContain("North Korea");
      expect(errors).toEqual([]);
    });
  });

  test("a lost connection is shown, loses nothing and recovers by itself", async () => {
    await stage.visit(width, async ({ page, context, check }) => {
      await openAt(page, "about");
      await fillAbout(page);
      await context.setOffline(true);
      await page.getByRole("button", { name: "Save and continue" }).click();
      await page.getByText("You seem to be offline").waitFor();
      expect(await page.getByLabel("Phone").inputValue()).toBe("+351 912 345 678");
      await page.getByRole("button", { name: "Try now" }).click();
      await check("offline");
      await context.setOffline(false);
      await heading(page, "Where you live").waitFor();

      await fillAddress(page);
      await goOn(page, "Your identity document");
      await chooseDocument(page, "Passport");
      await page.getByRole("heading", { name: "Page with the photo" }).waitFor();
      await context.setOffline(true);
      await page.setInputFiles(FRONT, stage.photos.front);
      await page.getByText("You seem to be offline").waitFor();
      await check("offline-upload");
      await context.setOffline(false);
      await page.getByText("Added", { exact: true }).waitFor();
      expect(await page.getByText("You seem to be offline").count()).toBe(0);
    });
  });
});

test("only the sandbox asks not to upload real documents", async () => {
  await stage.visit(360, async ({ page }) => {
    const notice = page.getByText("Sandbox: do not upload real documents.");
    await openAt(page, "selfie");
    await notice.waitFor();
    // A test cannot start a live server: its response is simulated.
    await page.route("**/kyc/*/session", async (route) => {
      const answer = await route.fetch();
      const { kyc } = (await answer.json()) as { kyc: object };
      await route.fulfill({ response: answer, json: { kyc: { ...kyc, mode: "live" } } });
    });
    await page.reload();
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await notice.count()).toBe(0);
  });
});

test("every step is accessible in dark mode", async () => {
  await stage.visit(360, async ({ page, check }) => {
    await page.emulateMedia({ colorScheme: "dark" });
    await openAt(page, "document");
    await page.getByRole("button", { name: "Save and continue" }).click();
    await page.getByText("Please choose which document you have.").waitFor();
    await check("dark-document");
    await chooseDocument(page, "Passport");
    await addFile(page, "document_front", stage.photos.front);
    for (const step of ["welcome", "about", "document", "review"]) {
      await page.evaluate(`location.hash = "${step}"`);
      await page.locator(`main#${step}`).waitFor();
      await check(`dark-${step}`);
    }
  });
});

test(
  "the whole form can be completed with the keyboard",
  async () => {
    await stage.visit(1280, async ({ page, errors }) => {
      const keys = page.keyboard;
      const tabTo = async (id: string) => {
        for (let step = 0; step < 40; step++) {
          const name = await page.evaluate<string>(
            "document.activeElement.id || document.activeElement.textContent",
          );
          if (name === id) return;
          await keys.press("Tab");
        }
        throw new Error(`The Tab key does not reach ${id}.`);
      };
      const write = async (id: string, text: string) => {
        await tabTo(id);
        await keys.type(text);
      };
      const press = async (button: string, next: string) => {
        await tabTo(button);
        await keys.press("Enter");
        await heading(page, next).waitFor();
        expect(await page.evaluate("document.activeElement.textContent")).toBe(next);
      };
      const pick = async (button: string, file: (typeof stage.photos)["front"]) => {
        await tabTo(button);
        const [chooser] = await Promise.all([
          page.waitForEvent("filechooser"),
          keys.press("Enter"),
        ]);
        await chooser.setFiles(file);
        await page.getByText("Added", { exact: true }).waitFor();
      };

      // Intercepted from the start: the first interception takes the browser a moment.
      page.on("filechooser", () => {});
      await page.goto(await stage.makeLink(await stage.addUser(ANA)));
      await heading(page, /asks you/).waitFor();
      await press("Start", "About you");
      await write("field-date_of_birth", "21");
      await write("field-date_of_birth-month", "April");
      await write("field-date_of_birth-year", "1988");
      await write("field-nationality", "Portugal");
      await write("field-phone", "+351912345678");
      await press("Save and continue", "Where you live");
      await write("field-country", "Portugal");
      await write("field-address_line1", "12 Invented Street");
      await write("field-city", "Lisbon");
      await write("field-postcode", "1100-148");
      await press("Save and continue", "Your identity document");
      await keys.press("Tab");
      await keys.press("Space");
      await page.getByRole("heading", { name: "Page with the photo" }).waitFor();
      await pick("Choose a file", stage.photos.front);
      await press("Save and continue", "A photo of your face");
      await pick("Choose a file", stage.photos.face);
      await press("Save and continue", "Review and submit");
      await tabTo("Submit");
      await keys.press("Enter");
      await heading(page, /we have everything|A person will review/).waitFor();
      expect(errors).toEqual([]);
    });
  },
  LONG_MS,
);
