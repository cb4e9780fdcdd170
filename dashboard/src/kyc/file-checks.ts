/** The same limit as the server's, so that a file it would refuse is not sent. */
export const FILE_BYTES_MAX = 10 * 1024 * 1024;

const SIGNATURES: [type: string, bytes: number[]][] = [
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["application/pdf", [0x25, 0x50, 0x44, 0x46, 0x2d]],
];
/** The formats of phone photos; at byte 4, after the length of the first box. */
const PHONE_PHOTO = /^ftyp(hei[cfmsx]|hev[cx]|mif1|msf1|avif)/;

const NAMES = /\.(jpe?g|png|pdf)$/i;

export type FileFault =
  | "empty"
  | "too_large"
  | "phone_photo"
  | "wrong_type"
  | "wrong_name"
  | "unreadable";

/** The problem of a file, judged by its content: its name and declared type prove nothing. */
export async function findFault(file: Blob, accepts: string[]): Promise<FileFault | null> {
  if (file.size === 0) return "empty";
  if (file.size > FILE_BYTES_MAX) return "too_large";
  const head = await readHead(file);
  if (head === null) return "unreadable";
  const type = typeOf(head);
  if (type !== null && accepts.includes(type)) return null;
  const text = String.fromCharCode(...head.subarray(4));
  if (PHONE_PHOTO.test(text)) return "phone_photo";
  const claims_more = type === null && file instanceof File && NAMES.test(file.name);
  return claims_more ? "wrong_name" : "wrong_type";
}

/** A browser can show images within a page, but a PDF only separately. */
export async function isPicture(file: Blob): Promise<boolean> {
  const head = await readHead(file);
  return head !== null && typeOf(head)?.startsWith("image/") === true;
}

/** Null for a file that cannot be read, such as one in an offline cloud folder. */
async function readHead(file: Blob): Promise<Uint8Array | null> {
  try {
    return new Uint8Array(await file.slice(0, 16).arrayBuffer());
  } catch {
    return null;
  }
}

function typeOf(head: Uint8Array): string | null {
  const match = SIGNATURES.find(([, bytes]) => bytes.every((byte, at) => head[at] === byte));
  return match?.[0] ?? null;
}
