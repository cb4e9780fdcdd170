import { isPicture } from "./file-checks.ts";

/** Newer phones take photos above the server's limit, with more pixels than needed. */
const SHRUNK_ABOVE_BYTES = 4 * 1024 * 1024;
/** A larger file is hardly a photo; decoding it could crash a phone. */
const OPENED_BYTES_MAX = 100 * 1024 * 1024;
const SIDE_MAX_PIXELS = 3000;
const JPEG_QUALITY = 0.85;

export async function isLargePhoto(file: Blob): Promise<boolean> {
  if (file.size <= SHRUNK_ABOVE_BYTES || file.size > OPENED_BYTES_MAX) return false;
  return isPicture(file);
}

/**
 * The photo with fewer pixels, as a JPEG without its location; the original file if the browser
 * cannot decode it, or the result would not be smaller.
 */
export async function shrinkPhoto(file: Blob): Promise<Blob> {
  const url = URL.createObjectURL(file);
  try {
    // An element, not createImageBitmap, which ignores the orientation in older browsers.
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
  // A JPEG has no transparency; transparent areas would turn black.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/jpeg", JPEG_QUALITY));
}
