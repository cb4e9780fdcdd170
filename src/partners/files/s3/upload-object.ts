import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { readXml, type S3Body, type S3Client, S3Error } from "./client.ts";
import { readElements } from "./xml.ts";

/** Larger files are sent in parts of this size; S3 takes at most 10,000 of them. */
const PART_BYTES = 64 * 1024 * 1024;
const PARTS_MAX = 10_000;
const READ_BYTES = 64 * 1024;

/** Stores a local file as an object, which becomes visible completely or not at all. */
export async function uploadObject(
  client: S3Client,
  path: string,
  key: string,
  part_bytes = PART_BYTES,
): Promise<void> {
  const { size } = await stat(path);
  if (size > part_bytes) return uploadInParts(client, { path, key, size, part_bytes });
  const answer = await client.send({ method: "PUT", key, body: await bodyOf(path, 0, size) });
  await answer.body.dump();
}

type Upload = { path: string; key: string; size: number; part_bytes: number };

async function uploadInParts(client: S3Client, upload: Upload): Promise<void> {
  const { key } = upload;
  const begun = await client.send({ method: "POST", key, query: { uploads: "" } });
  const { UploadId } = readElements(await readXml(begun.body), ["UploadId"]);
  const [uploadId] = UploadId;
  if (!uploadId) throw new S3Error("an upload in parts got no id", 0, "");
  try {
    const tags = await sendParts(client, upload, uploadId);
    await complete(client, key, uploadId, tags);
  } catch (error) {
    // Parts that are not deleted cost money and are not visible; see docs/guides/operating.md.
    await client.send({ method: "DELETE", key, query: { uploadId } }).catch(() => {});
    throw error;
  }
}

async function sendParts(
  client: S3Client,
  { path, key, size, part_bytes }: Upload,
  uploadId: string,
): Promise<string[]> {
  const bytes_per_part = Math.max(part_bytes, Math.ceil(size / PARTS_MAX));
  const tags: string[] = [];
  for (let start = 0; start < size; start += bytes_per_part) {
    const body = await bodyOf(path, start, Math.min(start + bytes_per_part, size));
    const query = { partNumber: String(tags.length + 1), uploadId };
    const { headers, body: rest } = await client.send({ method: "PUT", key, query, body });
    await rest.dump();
    if (typeof headers.etag !== "string") throw new S3Error("a part got no ETag", 0, "");
    tags.push(headers.etag);
  }
  return tags;
}

async function complete(
  client: S3Client,
  key: string,
  uploadId: string,
  tags: readonly string[],
): Promise<void> {
  const parts = tags.map((tag, index) => {
    const escaped = tag.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
    return `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escaped}</ETag></Part>`;
  });
  const xml = `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
  const hash = createHash("sha256").update(xml).digest("hex");
  const body: S3Body = { open: () => xml, bytes: Buffer.byteLength(xml), hash };
  const answer = await client.send({ method: "POST", key, query: { uploadId }, body });
  // S3 sends 200 before it is done, and the error, if there is one, in the body.
  const { Code, Message } = readElements(await readXml(answer.body), ["Code", "Message"]);
  if (Code[0]) throw new S3Error(`the parts were not joined: ${Message[0] ?? ""}`, 0, Code[0]);
}

/** A range of a file: read once for its hash, and again for each attempt. */
async function bodyOf(path: string, start: number, end: number): Promise<S3Body> {
  const bytes = end - start;
  const open = () =>
    bytes === 0
      ? Buffer.alloc(0)
      : createReadStream(path, { start, end: end - 1, highWaterMark: READ_BYTES });
  const hash = createHash("sha256");
  const content = open();
  if (!Buffer.isBuffer(content)) for await (const chunk of content) hash.update(chunk as Buffer);
  return { open, bytes, hash: hash.digest("hex") };
}
