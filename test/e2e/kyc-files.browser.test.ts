import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { png } from "../kyc/kyc-fixture.ts";
import { openStage, type Stage, WIDTHS } from "./kyc-stage.ts";
import { addFile, chooseDocument, PDF } from "./kyc-walk.ts";

const ANA = { beneficiary_type: "individual", first_name: "Ana", last_name: "Sample" };
const FRONT = "input[type=file][data-slot=document_front]";
const MEBI = 1024 * 1024;

let stage: Stage;
let directory: string;
let unreadable_file: string;
/** A photo of a newer phone, above the server's limit. */
let large_photo: string;
beforeAll(async () => {
  stage = await openStage();
  directory = await mkdtemp(join(tmpdir(), "sliproad-kyc-"));
  unreadable_file = join(directory, "unreadable.jpg");
  large_photo = join(directory, "large.png");
  await writeFile(unreadable_file, unreadable(11 * MEBI));
  await writeFile(large_photo, png("taken in Lisbon", 4000, 3000, 0));
});
afterAll(async () => {
  await stage?.close();
  await rm(directory, { recursive: true, force: true });
});

const openAt = (page: Page, step: string) => stage.openAt(page, ANA, step);

/** A valid picture in hierarchical JPEG, which browsers cannot decode. */
function unreadable(size: number): Buffer {
  const picture = Buffer.alloc(size);
  stage.photos.front.buffer.copy(picture);
  const frame = picture.indexOf(Buffer.from([0xff, 0xc0]));
  expect(frame).toBeGreaterThan(0);
  picture[frame + 1] = 0xc5;
  return picture;
}

describe.each(WIDTHS)("on a screen of %i px", (width) => {
  test("a wrong, an empty and a too large file are refused before anything is sent", async () => {
    await stage.visit(width, async ({ page, errors, check }) => {
      await openAt(page, "document");
      await chooseDocument(page, "Identity card");
      const sent: string[] = [];
      page.on("request", (request) => {
        if (request.method() === "PUT") sent.push(request.url());
      });
      const choose = (buffer: Buffer) =>
        page.setInputFiles(FRONT, { name: "card.jpg", mimeType: "image/jpeg", buffer });
      await choose(Buffer.from("This is a text, and not a picture."));
      await page.getByText("This file is not a JPG, PNG or PDF, even if its name").waitFor();
      await check("file-wrong");
      const buffer = Buffer.from("This is a text.");
      await page.setInputFiles(FRONT, { name: "card.txt", mimeType: "text/plain", buffer });
      await page.getByText("This file is not a JPG, PNG or PDF. Please").waitFor();
      await choose(Buffer.alloc(0));
      await page.getByText("This file is empty.").waitFor();
      // By path, like the file dialog: the browser need not read a file that it refuses.
      await page.setInputFiles(FRONT, unreadable_file);
      await page.getByText("This file is larger than 10 MB (11 MB).").waitFor();
      await choose(Buffer.from("\0\0\0\x18ftypheic and so on", "latin1"));
      await page.getByText("HEIC").waitFor();
      expect(sent).toEqual([]);
      await addFile(page, "document_front", stage.photos.front);
      expect(sent).toHaveLength(1);
      expect(errors).toEqual([]);
    });
  });
});

describe("a photo that is too large to send", () => {
  async function findStored(user_id: string) {
    const [file] = await stage.server.db.database.query<{ type: string; size: number }>(
      "select type, size from kyc_files where user_id = $1",
      [user_id],
    );
    return file!;
  }

  /** The size and orientation of the file that the server has. */
  async function readStored(page: Page, user_id: string) {
    // After a reload, the page shows the server's file.
    await page.reload();
    await page.locator("#slot-selfie img").waitFor();
    const look = `fetch(document.querySelector("#slot-selfie img").src).then((answer) => answer.blob()).then(
      async (blob) => {
        const picture = await createImageBitmap(blob);
        const text = new TextDecoder("latin1").decode(await blob.arrayBuffer());
        return { width: picture.width, height: picture.height, text };
      })`;
    const shown = await page.evaluate<{ width: number; height: number; text: string }>(look);
    return { ...(await findStored(user_id)), ...shown };
  }

  test("is made smaller in the browser, in its proportions, without its metadata", async () => {
    await stage.visit(360, async ({ page, errors }) => {
      const user_id = await openAt(page, "selfie");
      await page.setInputFiles("input[data-slot=selfie]", large_photo);
      await page.getByText("Added", { exact: true }).waitFor();
      const { text, ...stored } = await readStored(page, user_id);
      expect(stored).toMatchObject({ type: "jpg", width: 3000, height: 2250 });
      expect(stored.size).toBeLessThan(4 * MEBI);
      expect(text).not.toContain("Lisbon");
      expect(errors).toEqual([]);
    });
  });

  test("stays the right way up, and is not made larger", async () => {
    await stage.visit(1280, async ({ page, errors }) => {
      const user_id = await openAt(page, "selfie");
      const { buffer } = stage.photos.face;
      const turned = [buffer.subarray(0, 2), TURNED, buffer.subarray(2), Buffer.alloc(5 * MEBI)];
      await addFile(page, "selfie", {
        name: "face.jpg",
        mimeType: "image/jpeg",
        buffer: Buffer.concat(turned),
      });
      const { text, ...stored } = await readStored(page, user_id);
      expect(stored).toMatchObject({ type: "jpg", width: 570, height: 900 });
      expect(stored.size).toBeLessThan(MEBI);
      expect(text).not.toContain("Exif");
      expect(errors).toEqual([]);
    });
  });

  test("is sent unchanged if the browser cannot decode it, and so is a PDF", async () => {
    await stage.visit(360, async ({ page }) => {
      const user_id = await openAt(page, "document");
      await chooseDocument(page, "Passport");
      const photo = unreadable(5 * MEBI);
      const odd = { name: "odd.jpg", mimeType: "image/jpeg", buffer: photo };
      await addFile(page, "document_front", odd);
      expect(await findStored(user_id)).toEqual({ type: "jpg", size: photo.length });
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByRole("button", { name: "Choose a file" }).waitFor();
      const padding = Buffer.from(`%${" ".repeat(5 * MEBI)}\n`);
      const buffer = Buffer.concat([PDF.buffer.subarray(0, 9), padding, PDF.buffer.subarray(9)]);
      await addFile(page, "document_front", { ...PDF, buffer });
      expect(await findStored(user_id)).toEqual({ type: "pdf", size: buffer.length });
    });
  });
});

/** The EXIF orientation of a camera held upright: rotate by 90 degrees. */
const TURNED = Buffer.from(
  "ffe10022457869660000" +
    "49492a0008000000" +
    "0100" +
    "1201030001000000" +
    "06000000" +
    "00000000",
  "hex",
);

test("a file dropped on its zone is accepted, and one dropped elsewhere does nothing", async () => {
  await stage.visit(1280, async ({ page, errors }) => {
    await openAt(page, "selfie");
    const drop = (selector: string) => `{
      const bytes = Uint8Array.from(atob("${stage.photos.face.buffer.toString("base64")}"), (c) =>
        c.charCodeAt(0));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([bytes], "face.jpg"));
      const event = { dataTransfer, bubbles: true, cancelable: true };
      !document.querySelector("${selector}").dispatchEvent(new DragEvent("drop", event));
    }`;
    // Without the handler, the browser would replace the page with the file.
    expect(await page.evaluate(drop("h1"))).toBe(true);
    await page.getByText("Look straight ahead, in good light.").waitFor();
    expect(await page.evaluate(drop(".drop-zone"))).toBe(true);
    await page.getByText("Added", { exact: true }).waitFor();
    expect(errors).toEqual([]);
  });
});

test("an upload shows its progress and can be cancelled", async () => {
  await stage.visit(360, async ({ page, context, errors }) => {
    await openAt(page, "selfie");
    const network = await context.newCDPSession(page);
    await network.send("Network.enable");
    const slow = { latency: 0, downloadThroughput: -1, uploadThroughput: 200_000 };
    await network.send("Network.emulateNetworkConditions", { offline: false, ...slow });
    const buffer = Buffer.concat([stage.photos.face.buffer, Buffer.alloc(3_000_000)]);
    const file = { name: "face.jpg", mimeType: "image/jpeg", buffer };
    await page.setInputFiles("input[data-slot=selfie]", file);
    await page.getByText(/^Uploading … [1-9]\d? %$/).waitFor();
    await page.getByRole("progressbar", { name: "Uploading Selfie" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Look straight ahead, in good light.").waitFor();
    await page.reload();
    await page.getByText("Look straight ahead, in good light.").waitFor();
    expect(errors).toEqual([]);
  });
});

test("a photo that was added can be replaced and removed", async () => {
  await stage.visit(360, async ({ page }) => {
    await openAt(page, "selfie");
    await addFile(page, "selfie", stage.photos.face);
    const picture = page.getByRole("img", { name: "Preview: Selfie" });
    await picture.waitFor();
    await page.reload();
    await picture.waitFor();
    const width = "document.images[0].decode().then(() => document.images[0].naturalWidth)";
    expect(await page.evaluate(width)).toBe(900);
    await page.getByRole("button", { name: "Replace" }).click();
    await page.getByRole("button", { name: "Keep the current file" }).click();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("Look straight ahead, in good light.").waitFor();
    await page.getByRole("button", { name: "Save and continue" }).click();
    await page.getByText("Please add this photo or file.").waitFor();
  });
});
