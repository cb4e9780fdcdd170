import { randomUUID } from "node:crypto";
import type { FileStore } from "../../partners/files/file-store.ts";
import { openFiles, placeOfFiles } from "../../partners/files/open-files.ts";
import type { Config } from "../../platform/config/config.ts";
import type { Finding } from "./finding.ts";

const PROBE = Buffer.from("sliproad doctor\n");

/** Stores, lists, reads and deletes an object; of a directory, another check says enough. */
export async function checkFiles(config: Config): Promise<Finding[]> {
  if (placeOfFiles(config) === "directory") return [];
  const check = "files";
  const bucket = `bucket ${config.s3_bucket}`;
  try {
    const is_same = await probe(await openFiles(config));
    const finding = is_same ? `${bucket} can be written and read` : `${bucket} returns other bytes`;
    return [{ check, ok: is_same, finding }];
  } catch (error) {
    const { cause, message } = error as Error;
    const reason = cause instanceof Error ? cause.message : message;
    const advice = "check the SLIPROAD_S3 settings and what the key may do";
    return [{ check, ok: false, finding: `${bucket} does not work: ${reason}; ${advice}` }];
  }
}

async function probe(files: FileStore): Promise<boolean> {
  const key = { account_id: randomUUID(), record_id: randomUUID(), version: "doctor" };
  const content = (async function* () {
    yield PROBE;
  })();
  const { temporary_key } = await files.putTemporary(content, { bytes_max: PROBE.length });
  await files.promote(temporary_key, key);
  try {
    const read = Buffer.concat(await (await files.openRead(key)).toArray());
    const versions = await files.listVersions(key);
    return read.equals(PROBE) && versions.includes(key.version);
  } finally {
    await files.delete(key);
  }
}
