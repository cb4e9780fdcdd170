import type { Browser, Locator, Page } from "playwright-core";

/** A file for the browser's file dialog. */
export type Upload = { name: string; mimeType: string; buffer: Buffer };

export type Photos = Record<"front" | "back" | "face", Upload>;

/** Real images of invented documents, drawn by the browser itself. */
export async function takePhotos(browser: Browser): Promise<Photos> {
  const page = await browser.newPage({ viewport: { width: 900, height: 570 } });
  try {
    const shoot = async (name: string, html: string): Promise<Upload> => {
      await page.setContent(html);
      const buffer = await page.screenshot({ type: "jpeg", quality: 80 });
      return { name: `${name}.jpg`, mimeType: "image/jpeg", buffer };
    };
    return {
      front: await shoot("front", PAPER("IDENTITY CARD", "Ana Sample<br>21 April 1988")),
      back: await shoot("back", PAPER("REPUBLIC OF NOWHERE", "IDNOW1234567&lt;&lt;&lt;SAMPLE")),
      face: await shoot("face", FACE),
    };
  } finally {
    await page.close();
  }
}

const PAPER = (
  title: string,
  text: string,
) => `<body style="margin:0;background:#7a6a58;padding:40px">
<div style="background:linear-gradient(120deg,#dfe9e4,#c8d6ea);border-radius:26px;height:410px;
padding:40px;font:30px sans-serif;color:#234"><b>${title}</b>
<div style="display:flex;gap:40px;margin-top:40px"><div style="width:180px;height:230px;
background:#9fb0c0;border-radius:12px"></div><p style="line-height:1.6">${text}</p></div></div>`;

const FACE = `<body style="margin:0;background:#cfd8df;display:grid;place-items:center;height:570px">
<div style="width:260px;height:340px;background:#d9a98a;border-radius:50%;
box-shadow:0 -40px 0 30px #4a3428"></div>`;

/** A valid PDF: one empty page. */
export const PDF: Upload = {
  name: "extract.pdf",
  mimeType: "application/pdf",
  buffer: Buffer.from(
    "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n" +
      "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n" +
      "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]>>endobj\n" +
      "trailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n",
  ),
};

export function heading(page: Page, name: string | RegExp): Locator {
  return page.getByRole("heading", { level: 1, name });
}

/** Continues, and waits until the next step is shown. */
export async function goOn(page: Page, next: string | RegExp): Promise<void> {
  await page.getByRole("button", { name: "Save and continue" }).click();
  await heading(page, next).waitFor();
}

export async function fillDate(page: Page, day: string, month: string, year: string) {
  await page.getByLabel("Day").fill(day);
  await page.getByLabel("Month").selectOption(month);
  await page.getByLabel("Year").fill(year);
}

/** For a user with a known name only: one part is replaced, one stays hidden. */
export async function fillAbout(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Change: First names" }).click();
  await page.getByLabel("First names", { exact: true }).fill("Ana Maria");
  await fillDate(page, "21", "April", "1988");
  await page.getByLabel("Nationality").selectOption("Portugal");
  await page.getByLabel("Phone").fill("+351 912 345 678");
}

export async function fillAddress(page: Page): Promise<void> {
  await page.getByLabel("Country").selectOption("Portugal");
  await page.getByLabel("Street and number").fill("12 Invented Street");
  await page.getByLabel("Town or city").fill("Lisbon");
  await page.getByLabel("Postcode").fill("1100-148");
}

export async function fillCompany(page: Page): Promise<void> {
  await page.getByLabel("Company name").fill("Invented Payroll Ltd");
  await page.getByLabel("Registration number").fill("HRB 123456");
  await page.getByLabel("What does the company do?").fill("Pays the people of other companies");
}

/** Uploads a file through the file dialog, and waits until the server has it. */
export async function addFile(page: Page, slot: string, file: Upload): Promise<void> {
  await page.locator(`input[type=file][data-slot=${slot}]`).setInputFiles(file);
  await page.locator(`#slot-${slot}`).getByText("Added", { exact: true }).waitFor();
}

export async function chooseDocument(page: Page, kind: string): Promise<void> {
  await page.getByRole("radio", { name: kind }).check();
}
