import { createHash } from "node:crypto";
import { constants, type PathLike } from "node:fs";
import { type FileHandle, lstat, open } from "node:fs/promises";

/** More than a report may have: a file that is larger is refused, whatever follows. */
const HASHED_BYTES_MAX = 600 * 1024 * 1024;

/** The file is being written, or another one has taken its place: it is read another time. */
export class ChangedFile extends Error {
  override name = "ChangedFile";
}

/** A file that is kept open: whatever takes its name meanwhile, these are its bytes. */
export type HeldFile = {
  digest: Buffer;
  /** The bytes that have this digest; throws at the end of others. */
  bytes(): AsyncGenerator<Uint8Array>;
  /** Whether this file, unchanged, has this name. */
  isAt(path: PathLike): Promise<boolean>;
  close(): Promise<void>;
};

/** A link that took the place of the file is not followed, and a special file is not waited for. */
export async function holdFile(path: PathLike): Promise<HeldFile> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const held = await file.stat({ bigint: true });
    if (!held.isFile()) throw new ChangedFile("it is no plain file any more");
    const digest = await digestOf(bytesOf(file));
    return {
      digest,
      bytes: async function* () {
        const hash = createHash("sha256");
        for await (const chunk of bytesOf(file)) {
          hash.update(chunk);
          yield chunk;
        }
        if (!hash.digest().equals(digest)) throw new ChangedFile("it changed while it was read");
      },
      isAt: async (place) => {
        const found = await lstat(place, { bigint: true });
        const facts = ["dev", "ino", "size", "mtimeNs"] as const;
        return facts.every((fact) => found[fact] === held[fact]);
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const hash = createHash("sha256");
  let hashed = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    hashed += chunk.length;
    if (hashed > HASHED_BYTES_MAX) break;
  }
  return hash.digest();
}

/** From the beginning, also if it was read before. */
function bytesOf(file: FileHandle): AsyncIterable<Uint8Array> {
  return file.createReadStream({ autoClose: false, start: 0 });
}
