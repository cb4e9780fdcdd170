import { isPicture } from "./file-checks.ts";

/** Newer phones take photos beyond the server's limit, and nobody needs all their dots. */
const SHRUNK_ABOVE_BYTES = 4 * 1024 * 1024;
/** A larger one is hardly a photo; opening it could stop a phone. */
const OPENED_BYTES_MAX = 100 * 1024 * 1024;
const SIDE_MAX_PIXELS = 3000;
const JPEG_QUALITY = 0.85;

export async function isLargePhoto(file: Blob): Promise<boolean> {
  if (file.size <= SHRUNK_ABOVE_BYTES || file.size > OPENED_BYTES_MAX) return false;
  return isPicture(file);
}

/**
 * The photo with fewer dots, as a JPEG that says nothing of where it was taken; the file as it is
 * where the browser cannot open it, or would not make it smaller.
 */
export async function shrinkPhoto(file: Blob): Promise<Blob> {
  const url = URL.createObjectURL(file);
  try {
    // An element and not createImageBitmap, which in older browsers forgets which side is up.
    const image = new Image();
    image.src = url;
    await image.decode();
    const shrunk = await draw(image);
    return shrunk && shrunk.size < file.size ? shrunk : file;
  } catch {
    return file;
  } finally {
    URL.revokeObjectURL(url);
  }
}

function draw(image: HTMLImageElement): Promise<Blob | null> {
  const { naturalWidth, naturalHeight } = image;
  const scale = Math.min(1, SIDE_MAX_PIXELS / Math.max(naturalWidth, naturalHeight));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(naturalWidth * scale));
  canvas.height = Math.max(1, Math.round(naturalHeight * scale));
  const context = canvas.getContext("2d");
  if (!context) return Promise.resolve(null);
  // A JPEG has no transparency; without this it would turn black.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/jpeg", JPEG_QUALITY));
}
