import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { Refusal } from "../../errors.ts";
import { drain, senderOf } from "../drain.ts";
import { FRAME_BYTES_MAX, missingPart, readBoundary, readOnePart } from "./multipart.ts";

type UploadRules<Type> = {
  /** The name of the only part that the body must have. */
  part: string;
  /** Inclusive. */
  bytes_max: number;
  /** The type of the file, by its first bytes; null if it is not accepted. */
  judge: (head: Buffer) => Type | null;
  /** Passes the content on; throws a Refusal if it must not be stored. */
  scan?: ((content: AsyncIterable<Buffer>) => AsyncGenerator<Buffer>) | undefined;
};

type Upload<Type, Kept> = {
  /** SHA-256 of the file's bytes, in hex. */
  hash: string;
  type: Type;
  size: number;
  /** The result of the sink. */
  kept: Kept;
};

/** Enough for every signature that is checked. */
const HEAD_BYTES = 8;

/**
 * Streams the file of a multipart request into the sink, no faster than the sink reads. The stream
 * ends only after the whole body proved valid; otherwise it fails, and the sink must leave nothing
 * behind. A file of a wrong type never reaches the sink.
 */
export async function readUpload<Type, Kept>(
  request: FastifyRequest,
  rules: UploadRules<Type>,
  sink: (content: Readable) => Promise<Kept>,
): Promise<Upload<Type, Kept>> {
  try {
    return await readFile(request.raw, rules, sink);
  } catch (error) {
    drain(request.raw, senderOf(request));
    throw error;
  }
}

async function readFile<Type, Kept>(
  raw: IncomingMessage,
  rules: UploadRules<Type>,
  sink: (content: Readable) => Promise<Kept>,
): Promise<Upload<Type, Kept>> {
  const boundary = readBoundary(raw.headers["content-type"]);
  if (Number(raw.headers["content-length"] ?? 0) > rules.bytes_max + FRAME_BYTES_MAX) {
    throw new Refusal("file_too_large");
  }
  const part = readOnePart(bodyOf(raw), boundary, rules.part);
  const { type, head } = await judgeHead(part, rules);
  const progress: Progress = { hash: createHash("sha256"), size: 0, is_whole: false };
  const whole = measured(head, part, rules.bytes_max, progress);
  const content = Readable.from(rules.scan ? rules.scan(whole) : whole);
  let kept: Kept;
  try {
    kept = await sink(content);
  } catch (error) {
    throw progress.failure ?? error;
  } finally {
    content.destroy();
  }
  if (!progress.is_whole) throw progress.failure ?? new Error("the sink did not take the file");
  return { hash: progress.hash.digest("hex"), type, size: progress.size, kept };
}

async function judgeHead<Type>(
  part: AsyncGenerator<Buffer>,
  rules: UploadRules<Type>,
): Promise<{ type: Type; head: Buffer }> {
  let head: Buffer = Buffer.alloc(0);
  try {
    while (head.length < HEAD_BYTES) {
      const next = await part.next();
      if (next.done) break;
      head = Buffer.concat([head, next.value]);
    }
    if (head.length === 0) throw missingPart(rules.part);
    const type = rules.judge(head);
    if (type === null) throw new Refusal("unsupported_file_type");
    return { type, head };
  } catch (error) {
    await part.return(undefined);
    throw error;
  }
}

type Progress = {
  hash: ReturnType<typeof createHash>;
  size: number;
  is_whole: boolean;
  /** Why the stream failed, in case the sink wraps the error. */
  failure?: unknown;
};

async function* measured(
  head: Buffer,
  part: AsyncGenerator<Buffer>,
  bytes_max: number,
  progress: Progress,
): AsyncGenerator<Buffer> {
  const take = (chunk: Buffer) => {
    progress.size += chunk.length;
    if (progress.size > bytes_max) throw new Refusal("file_too_large");
    progress.hash.update(chunk);
    return chunk;
  };
  try {
    yield take(head);
    for await (const chunk of part) yield take(chunk);
    progress.is_whole = true;
  } catch (error) {
    progress.failure = error;
    throw error;
  } finally {
    await part.return(undefined);
  }
}

/** The body's bytes. Stopping early leaves the connection open: an answer is still to be sent. */
async function* bodyOf(raw: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* raw.iterator({ destroyOnReturn: false });
  } catch {
    // The client disconnected. It does not read this answer, but it must not count as our error.
    throw new Refusal("bad_request", "The upload ended before it was complete.");
  }
}
