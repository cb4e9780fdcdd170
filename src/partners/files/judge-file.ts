export type FileType = "pdf" | "jpg" | "png";

const SIGNATURES: readonly (readonly [FileType, Buffer])[] = [
  ["pdf", Buffer.from("%PDF-")],
  ["jpg", Buffer.from([0xff, 0xd8, 0xff])],
  ["png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
];

export const MEDIA_TYPES: Record<FileType, string> = {
  pdf: "application/pdf",
  jpg: "image/jpeg",
  png: "image/png",
};

/** The type of a file by its first 8 bytes, whatever its name; null if it is not accepted. */
export function judgeFile(head: Buffer): FileType | null {
  const found = SIGNATURES.find(([, bytes]) => head.subarray(0, bytes.length).equals(bytes));
  return found?.[0] ?? null;
}
