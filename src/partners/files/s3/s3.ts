import { access } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Refusal } from "../../../platform/errors.ts";
import { ensureDataDir } from "../../../platform/instance.ts";
import {
  checkFileKey,
  checkRecord,
  type FileKey,
  FileMissingError,
  type FileStore,
} from "../file-store.ts";
import { openTemporaryFiles } from "../temporary-files.ts";
import { openS3Client, readXml, type S3Client, S3Error, type S3Settings } from "./client.ts";
import { createDownloads, type S3Object } from "./downloads.ts";
import { uploadObject } from "./upload-object.ts";
import { readElements } from "./xml.ts";

const RETRY_AFTER_SECONDS = 10;
/** A record has a few versions; this many pages of 1000 are a mistake. */
const PAGES_MAX = 100;

type S3Options = S3Settings & { data_dir: string; part_bytes?: number };

/**
 * Files as objects of a bucket, called `account/record/version`. A file is received on this
 * machine first: its length and hash are known then, so that it is sent with both signed, and in
 * one request.
 */
export async function openS3({ data_dir, part_bytes, ...settings }: S3Options): Promise<FileStore> {
  const client = openS3Client(settings);
  const root = join(await ensureDataDir(data_dir), "files");
  const temporary = await openTemporaryFiles(join(root, "temporary"));
  const openDownload = createDownloads(temporary);
  const getObject = async (key: FileKey): Promise<S3Object> => {
    const { headers, body } = await client.send({ method: "GET", key: nameOf(key) }).catch(refuse);
    const bytes = Number(headers["content-length"] ?? Number.POSITIVE_INFINITY);
    const content = Readable.from(received(body), { objectMode: false });
    // One that nobody reads never starts its generator, which would close the connection.
    return { bytes, body: content.once("close", () => body.destroy()) };
  };
  return {
    putTemporary: async (content, limits) => {
      return { temporary_key: await temporary.put(content, limits) };
    },
    promote: async (temporary_key, key) => {
      const path = temporary.pathOf(temporary_key);
      const name = nameOf(key);
      const is_here = await access(path).then(
        () => true,
        () => false,
      );
      // Repeated after a crash: it was already done. Otherwise the temporary file is missing.
      if (!is_here) return assertObject(client, name);
      try {
        await uploadObject(client, path, name, part_bytes).catch(refuse);
      } finally {
        // Nobody repeats a promotion that failed: while S3 is away, the disk must not fill.
        await temporary.delete(temporary_key);
      }
    },
    deleteTemporary: temporary.delete,
    sweepTemporaries: temporary.sweep,
    openRead: async (key) => (await getObject(key)).body,
    openDownload: async (key) => openDownload(key.account_id, await getObject(key)),
    delete: async (key) => {
      const answer = await client.send({ method: "DELETE", key: nameOf(key) }).catch(ignoreMissing);
      await answer?.body.dump();
    },
    listVersions: async (record) => {
      const prefix = recordPrefix(record);
      const names = await listNames(client, prefix).catch(refuse);
      return names.map((name) => name.slice(prefix.length));
    },
  };
}

/** Whoever reads an object that breaks off is told so as if there had been no answer. */
async function* received(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    const { code = "", message } = error as Error & { code?: string };
    refuse(new S3Error(`an object did not arrive whole (${code || message})`, 0, code, error));
  }
}

async function assertObject(client: S3Client, key: string): Promise<void> {
  const { body } = await client.send({ method: "HEAD", key }).catch(refuse);
  await body.dump();
}

async function listNames(client: S3Client, prefix: string): Promise<string[]> {
  const names: string[] = [];
  let token: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = {
      "list-type": "2",
      prefix,
      ...(token === undefined ? {} : { "continuation-token": token }),
    };
    const { body } = await client.send({ method: "GET", key: "", query });
    const found = readElements(await readXml(body), ["Key", "NextContinuationToken"]);
    names.push(...found.Key);
    token = found.NextContinuationToken[0];
    if (token === undefined) return names;
  }
  throw new S3Error(`more than ${PAGES_MAX} pages of names`, 0, "");
}

function nameOf(key: FileKey): string {
  return `${recordPrefix(checkFileKey(key))}${key.version}`;
}

function recordPrefix(record: Omit<FileKey, "version">): string {
  const { account_id, record_id } = checkRecord(record);
  return `${account_id}/${record_id}/`;
}

/** The cause is logged; what S3 said is not the client's concern. */
function refuse(error: unknown): never {
  if (!(error instanceof S3Error)) throw error;
  if (error.is_missing) throw new FileMissingError("there is no such file", { cause: error });
  const message = "Files cannot be stored or read right now; try again later.";
  const refusal = new Refusal("unavailable", message, RETRY_AFTER_SECONDS);
  throw Object.assign(refusal, { cause: error });
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof S3Error) || !error.is_missing) refuse(error);
}
