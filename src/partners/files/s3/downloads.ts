import type { Readable } from "node:stream";
import { Refusal } from "../../../platform/errors.ts";
import { Shares } from "../../../platform/shares.ts";
import type { TemporaryFiles } from "../temporary-files.ts";

const LIMITS = {
  /** More than any document or KYC file; exports may be larger. */
  copied_bytes_max: 16 * 1024 * 1024,
  /** On this machine's disk, of all downloads under way. */
  disk_bytes_max: 512 * 1024 * 1024,
  /** Of the connections to S3; the others are for all other work. */
  streamed_max: 8,
};
const BUSY = "Too many files are being downloaded. Try again when other downloads have ended.";
const BUSY_RETRY_SECONDS = 10;

/** `bytes` is infinite where S3 does not say how long the object is. */
export type S3Object = { bytes: number; body: Readable };

type OpenDownload = (account_id: string, object: S3Object) => Promise<Readable>;

/**
 * A client that reads slowly would occupy a connection to S3 for as long as it likes, and there are
 * few of them. The object is therefore copied to this machine first; a large one is sent on
 * directly. Accounts share the disk space and the connections that this takes.
 */
export function createDownloads(
  temporary: Pick<TemporaryFiles, "copy">,
  limits = LIMITS,
): OpenDownload {
  const copied = new Shares(limits.disk_bytes_max);
  const streamed = new Shares(limits.streamed_max);
  return async (account_id, { bytes, body }) => {
    const is_copied = bytes <= limits.copied_bytes_max;
    const [shares, amount] = is_copied ? ([copied, bytes] as const) : ([streamed, 1] as const);
    if (!shares.take(account_id, amount)) {
      body.destroy();
      throw new Refusal("unavailable", BUSY, BUSY_RETRY_SECONDS);
    }
    const leave = () => shares.leave(account_id, amount);
    try {
      const content = is_copied ? await temporary.copy(body) : body;
      return content.once("close", leave);
    } catch (error) {
      body.destroy();
      leave();
      throw error;
    }
  };
}
