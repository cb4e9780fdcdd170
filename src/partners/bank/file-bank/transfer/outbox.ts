import { createHash, type Hash } from "node:crypto";
import { open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { FileBankAccount, SftpServer } from "../model.ts";
import { withSftp } from "./sftp-session.ts";

const BUFFER_LENGTH = 64 * 1024;

/** Where a bank takes our files. */
type Outbox = {
  /** Writes a new file whole, or leaves none. Returns its digest. */
  write(name: string, pieces: AsyncIterable<string>): Promise<Buffer>;
  /** Gives a file its final name. One that is gone was renamed before. */
  place(temporary_name: string, name: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** The names that begin so. */
  list(start: string): Promise<string[]>;
};

export function openOutbox({ outbox, server }: Pick<FileBankAccount, "outbox" | "server">) {
  return server ? sftpOutbox(server, outbox) : directoryOutbox(outbox);
}

/** A directory that the bank's transfer program empties. */
function directoryOutbox(directory: string): Outbox {
  const pathOf = (name: string) => join(directory, name);
  return {
    write: async (name, pieces) => {
      const handle = await open(pathOf(name), "wx", 0o640);
      const hash = createHash("sha256");
      try {
        for await (const bytes of inChunks(pieces, hash)) await handle.writeFile(bytes);
        await handle.sync();
        return hash.digest();
      } catch (error) {
        await rm(pathOf(name), { force: true });
        throw error;
      } finally {
        await handle.close();
      }
    },
    place: async (temporary_name, name) => {
      try {
        await rename(pathOf(temporary_name), pathOf(name));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
      const handle = await open(directory);
      try {
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
    remove: (name) => rm(pathOf(name), { force: true }),
    list: async (start) => (await readdir(directory)).filter((name) => name.startsWith(start)),
  };
}

/**
 * A directory of the bank's SFTP server. The steps are those of a local one: bytes under a
 * temporary name, which is recorded, then the rename of that name. After a broken connection it is
 * asked whether the temporary name is still there; a second file is never made.
 */
function sftpOutbox(server: SftpServer, folder: string): Outbox {
  const pathOf = (name: string) => `${folder}/${name}`;
  return {
    write: (name, pieces) =>
      withSftp(server, async (session) => {
        const hash = createHash("sha256");
        try {
          await session.write(pathOf(name), inChunks(pieces, hash));
        } catch (error) {
          await session.remove(pathOf(name)).catch(() => {});
          throw error;
        }
        return hash.digest();
      }),
    place: (temporary_name, name) =>
      withSftp(server, async (session) => {
        await session.rename(pathOf(temporary_name), pathOf(name));
      }),
    remove: (name) => withSftp(server, (session) => session.remove(pathOf(name))),
    list: (start) =>
      withSftp(server, async (session) => {
        const entries = await session.list(folder);
        return entries.map(({ name }) => name).filter((name) => name.startsWith(start));
      }),
  };
}

async function* inChunks(pieces: AsyncIterable<string>, hash: Hash): AsyncGenerator<Buffer> {
  let buffered = "";
  const take = () => {
    const bytes = Buffer.from(buffered);
    hash.update(bytes);
    buffered = "";
    return bytes;
  };
  for await (const piece of pieces) {
    buffered += piece;
    if (buffered.length >= BUFFER_LENGTH) yield take();
  }
  yield take();
}
