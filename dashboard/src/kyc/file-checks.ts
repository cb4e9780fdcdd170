/** The same limit as the server's: what it would refuse is not sent. */
export const FILE_BYTES_MAX = 10 * 1024 * 1024;

const SIGNATURES: [type: string, bytes: number[]][] = [
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46, 0x2d]],
];
/** Phones keep photos in this format; at byte 4, after the length of the first part. */
const PHONE_PHOTO = /^ftyp(hei[cfmsx]|hev[cx]|mif1|msf1|avif)/;

export type FileFault = "empty" | "too_large" | "phone_photo" | "wrong_type" | "unreadable";

/** What is wrong with a file, by what is in it: its name and its claimed type prove nothing. */
export async function findFault(file: Blob, accepts: string[]): Promise<FileFault | null> {
  if (file.size === 0) return "empty";
  if (file.size > FILE_BYTES_MAX) return "too_large";
  let head: Uint8Array;
  try {
    head = new Uint8Array(await file.slice(0, 16).arrayBuffer());
  } catch {
    // Chosen from a cloud folder that is not there right now, or deleted meanwhile.
    return "unreadable";
  }
  const type = typeOf(head);
  if (type !== null && accepts.includes(type)) return null;
  const text = String.fromCharCode(...head.subarray(4));
  return PHONE_PHOTO.test(text) ? "phone_photo" : "wrong_type";
}

function typeOf(head: Uint8Array): string | null {
  const match = SIGNATURES.find(([, bytes]) => bytes.every((byte, at) => head[at] === byte));
  return match?.[0] ?? null;
}
