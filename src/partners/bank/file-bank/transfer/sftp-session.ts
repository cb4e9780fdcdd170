import { readFileSync } from "node:fs";
import ssh2, { type FileEntryWithStats, type SFTPWrapper } from "ssh2";
import { MINUTE_MS, SECOND_MS } from "../../../../platform/durations.ts";
import type { SftpServer } from "../model.ts";
import { findHostKeys, isKnownKey } from "./known-hosts.ts";

const CONNECTED_WITHIN_MS = 20 * SECOND_MS;
const ANSWERED_WITHIN_MS = 60 * SECOND_MS;
/** A server that answers each request, but a little at a time, ends here. */
const SESSION_WITHIN_MS = 30 * MINUTE_MS;
/** Of a directory, which a server could list without end. */
const NAMES_MAX = 50_000;
const NAMES_LENGTH_MAX = NAMES_MAX * 255;

/** SFTP's answer to a name that does not exist. */
const NO_SUCH_FILE = 2;

/** A server that we must not talk to: its key is unknown, or another one than before. */
class UntrustedServer extends Error {
  override name = "UntrustedServer";
}

export type ListedFile = { name: string; size: number; mtime: number; is_file: boolean };

export type SftpSession = {
  /** Throws if the server lists more than a directory may have. */
  list(folder: string): Promise<ListedFile[]>;
  /** The size of a file; null if there is none. */
  sizeOf(path: string): Promise<number | null>;
  /** Writes a new file; an existing one is an error. */
  write(path: string, bytes: AsyncIterable<Buffer>): Promise<void>;
  read(path: string): AsyncIterable<Buffer>;
  /** Never onto an existing file; false if there is no such file. */
  rename(from: string, to: string): Promise<boolean>;
  remove(path: string): Promise<void>;
};

/**
 * Runs work on an SFTP server, whose key must be in the known_hosts file. A connection that breaks,
 * or does not answer for a minute, ends the work with an error, and so does the end of its time.
 */
export async function withSftp<Result>(
  server: SftpServer,
  work: (session: SftpSession) => Promise<Result>,
  { within_ms = SESSION_WITHIN_MS } = {},
): Promise<Result> {
  const { host, port } = server;
  const known = findHostKeys(readFileSync(server.known_hosts_file, "utf8"), host, port);
  if (known.length === 0) {
    throw new UntrustedServer(`${host}: its key is not in ${server.known_hosts_file}`);
  }
  const client = new ssh2.Client();
  const broken = Promise.withResolvers<never>();
  // It may break after the work is done, when nobody waits for it any more.
  broken.promise.catch(() => {});
  let is_refused = false;
  const timer = setTimeout(() => {
    const seconds = Math.ceil(within_ms / SECOND_MS);
    broken.reject(new Error(`${host}: the work was not finished within ${seconds} seconds`));
  }, within_ms);
  try {
    const ready = new Promise<void>((resolve, reject) => {
      client.on("ready", resolve);
      const fail = (error: Error) => {
        const told = is_refused
          ? new UntrustedServer(
              `${host}: its key is another one than ${server.known_hosts_file} has`,
            )
          : error;
        reject(told);
        broken.reject(told);
      };
      client.on("error", fail);
      client.on("close", () => fail(new Error(`${host}: the connection was closed`)));
    });
    client.connect({
      ...{ host, port, username: server.user, readyTimeout: CONNECTED_WITHIN_MS },
      ...(server.key_file === null ? {} : { privateKey: readFileSync(server.key_file) }),
      ...(server.password_file === null
        ? {}
        : { password: readFileSync(server.password_file, "utf8").trim() }),
      keepaliveInterval: ANSWERED_WITHIN_MS / 4,
      algorithms: { serverHostKey: algorithmsOf(known.map(({ type }) => type)) },
      hostVerifier: (key: Buffer) => {
        is_refused = !isKnownKey(known, key);
        return !is_refused;
      },
    });
    await Promise.race([ready, broken.promise]);
    const opening = new Promise<SFTPWrapper>((resolve, reject) =>
      client.sftp((error, opened) => (error ? reject(error) : resolve(opened))),
    );
    const sftp = await Promise.race([opening, broken.promise]);
    return await Promise.race([work(sessionOf(sftp, broken.promise)), broken.promise]);
  } finally {
    clearTimeout(timer);
    client.end();
    client.destroy();
  }
}

/** The signatures that a server can prove its known keys with; RSA has three, SHA-1 is not used. */
function algorithmsOf(types: readonly string[]): ssh2.ServerHostKeyAlgorithm[] {
  const names = types.flatMap((type) =>
    type === "ssh-rsa" ? ["rsa-sha2-512", "rsa-sha2-256"] : [type],
  );
  return [...new Set(names)] as ssh2.ServerHostKeyAlgorithm[];
}

function sessionOf(sftp: SFTPWrapper, broken: Promise<never>): SftpSession {
  /** One request; a server that does not answer is a broken one. */
  const ask: Ask = <Value>(
    request: (done: (error: Error | null | undefined, value?: Value) => void) => void,
  ): Promise<Value> => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error("the SFTP server does not answer")),
      ANSWERED_WITHIN_MS,
    );
    const answer = new Promise<Value>((resolve, reject) =>
      request((error, value) => (error ? reject(error) : resolve(value as Value))),
    );
    return Promise.race([answer, broken, late.promise]).finally(() => clearTimeout(timer));
  };
  const sizeOf = async (path: string) => {
    try {
      return (await ask<ssh2.Stats>((done) => sftp.lstat(path, done))).size;
    } catch (error) {
      if (isAbsent(error)) return null;
      throw error;
    }
  };
  return {
    list: (folder) => listNames(sftp, folder, ask),
    sizeOf,
    write: async (path, bytes) => {
      const handle = await ask<Buffer>((done) => sftp.open(path, "wx", done));
      let at = 0;
      for await (const chunk of bytes) {
        const position = at;
        await ask((done) => sftp.write(handle, chunk, 0, chunk.length, position, done));
        at += chunk.length;
      }
      await ask((done) => sftp.close(handle, done));
      // Some servers accept what their disk has no room for.
      const size = await sizeOf(path);
      if (size !== at) throw new Error(`the server has ${size} of ${at} bytes of ${path}`);
    },
    read: (path) => readChunks(sftp, path, ask),
    rename: async (from, to) => {
      try {
        await ask((done) => sftp.rename(from, to, done));
        return true;
      } catch (error) {
        if (isAbsent(error) && (await sizeOf(from)) === null) return false;
        throw error;
      }
    },
    remove: async (path) => {
      await ask((done) => sftp.unlink(path, done)).catch((error: unknown) => {
        if (!isAbsent(error)) throw error;
      });
    },
  };
}

type Ask = <Value>(
  request: (done: (error: Error | null | undefined, value?: Value) => void) => void,
) => Promise<Value>;

/** Reads a directory piece by piece, so that its length is known before it is in memory. */
async function listNames(sftp: SFTPWrapper, folder: string, ask: Ask): Promise<ListedFile[]> {
  const handle = await ask<Buffer>((done) => sftp.opendir(folder, done));
  const files: ListedFile[] = [];
  let length = 0;
  for (let pieces = 1; ; pieces += 1) {
    const piece = await ask<FileEntryWithStats[] | null>((done) =>
      sftp.readdir(handle, (error, found) =>
        isEnd(error) ? done(null, null) : done(error, found),
      ),
    );
    if (piece === null) break;
    for (const { filename: name, attrs } of piece) {
      length += name.length;
      files.push({ name, size: attrs.size, mtime: attrs.mtime, is_file: attrs.isFile() });
    }
    if (Math.max(files.length, pieces) > NAMES_MAX || length > NAMES_LENGTH_MAX) {
      throw new Error(`the directory ${folder} has more than ${NAMES_MAX} names: it is not read`);
    }
  }
  await ask((done) => sftp.close(handle, done));
  return files;
}

const CHUNK_BYTES = 32 * 1024;

async function* readChunks(sftp: SFTPWrapper, path: string, ask: Ask): AsyncGenerator<Buffer> {
  const handle = await ask<Buffer>((done) => sftp.open(path, "r", done));
  for (let at = 0; ; ) {
    const position = at;
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const read = await ask<number>((done) =>
      sftp.read(handle, chunk, 0, CHUNK_BYTES, position, (error, bytes) =>
        isEnd(error) ? done(null, 0) : done(error, bytes),
      ),
    );
    if (read === 0) break;
    at += read;
    yield chunk.subarray(0, read);
  }
  await ask((done) => sftp.close(handle, done));
}

const END_OF_FILE = 1;

function isEnd(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === END_OF_FILE;
}

function isAbsent(error: unknown): boolean {
  return (error as { code?: unknown }).code === NO_SUCH_FILE;
}
