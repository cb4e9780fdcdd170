import { generateKeyPairSync, randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import ssh2, { type Connection, type SFTPWrapper } from "ssh2";

const { OPEN_MODE, STATUS_CODE } = ssh2.utils.sftp;

/** The requests of SFTP that a test can break the connection at. */
type Operation = "open" | "write" | "close" | "rename" | "readdir" | "read" | "remove";

export type SftpTestServer = Awaited<ReturnType<typeof startSftpServer>>;

/** A key of a server and its line of a known_hosts file without the name. */
export function newHostKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const pem = privateKey.export({ type: "sec1", format: "pem" }).toString();
  const parsed = ssh2.utils.parseKey(pem);
  if (parsed instanceof Error) throw parsed;
  return { pem, line: `${parsed.type} ${parsed.getPublicSSH().toString("base64")}` };
}

/** A real SFTP server that serves a directory, and can break off at any request. */
export async function startSftpServer(directory: string, host_key: string, password: string) {
  const state = {
    break_at: null as { at: Operation; is_done: boolean } | null,
    /** A file that may not be opened. */
    refused: null as string | null,
    /** A file that never ends. */
    endless: null as string | null,
    /** The sizes of files that it says, by name, if not the true ones. */
    said_sizes: {} as Record<string, number>,
    /** Directories never end: pieces of this many names. */
    endless_names: 0,
    /** It lets clients sign in, and then says nothing. */
    is_hanging: false,
    requests: 0,
  };
  const clients = new Set<Connection>();
  const server = new ssh2.Server({ hostKeys: [host_key] }, (client) => {
    clients.add(client);
    client.on("close", () => clients.delete(client));
    client.on("error", () => {});
    client.on("authentication", (context) => {
      if (context.method === "password" && context.password === password) context.accept();
      else context.reject(["password"]);
    });
    client.on("session", (accept) => {
      accept().on("sftp", (open) => {
        if (!state.is_hanging) serve(open(), directory, client, state);
      });
    });
  });
  const disconnect = () => {
    for (const client of clients) client.end();
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    state,
    disconnect,
    close: () => {
      disconnect();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function serve(
  sftp: SFTPWrapper,
  directory: string,
  client: Connection,
  state: SftpTestServer["state"],
): void {
  const handles = new Map<string, { file: number; path: string } | { names: string[] | null }>();
  const pathOf = (path: string) => join(directory, path);
  const newHandle = (opened: { file: number; path: string } | { names: string[] }) => {
    const handle = randomBytes(8);
    handles.set(handle.toString("hex"), opened);
    return handle;
  };
  const fileOf = (handle: Buffer) => {
    const found = handles.get(handle.toString("hex"));
    if (!found || !("file" in found)) throw new Error("no such handle");
    return found;
  };
  /** Does a request, or breaks the connection before or after it was done. */
  const on = (operation: Operation, id: number, work: () => void) => {
    const is_broken = state.break_at?.at === operation;
    state.requests += 1;
    if (is_broken && !state.break_at!.is_done) {
      state.break_at = null;
      client.end();
      return;
    }
    if (is_broken) {
      state.break_at = null;
      // What it would answer is lost on the way.
      sftp.status = () => {};
      sftp.handle = () => {};
      sftp.name = () => {};
      sftp.data = () => {};
    }
    try {
      work();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      sftp.status(id, code === "ENOENT" ? STATUS_CODE.NO_SUCH_FILE : STATUS_CODE.FAILURE);
    }
    if (is_broken) client.end();
  };
  const done = (id: number) => sftp.status(id, STATUS_CODE.OK);
  sftp.on("OPEN", (id, path, flags) =>
    on("open", id, () => {
      const is_write = (flags & OPEN_MODE.WRITE) !== 0;
      if (path === state.refused) throw new Error("permission denied");
      const file = openSync(pathOf(path), is_write ? "wx" : "r");
      sftp.handle(id, newHandle({ file, path }));
    }),
  );
  sftp.on("WRITE", (id, handle, offset, data) =>
    on("write", id, () => {
      writeSync(fileOf(handle).file, data, 0, data.length, offset);
      done(id);
    }),
  );
  sftp.on("READ", (id, handle, offset, length) =>
    on("read", id, () => {
      const data = Buffer.alloc(length);
      const { file, path } = fileOf(handle);
      const read = path === state.endless ? length : readSync(file, data, 0, length, offset);
      if (read === 0) sftp.status(id, STATUS_CODE.EOF);
      else sftp.data(id, data.subarray(0, read));
    }),
  );
  sftp.on("CLOSE", (id, handle) =>
    on("close", id, () => {
      const found = handles.get(handle.toString("hex"));
      if (found && "file" in found) closeSync(found.file);
      done(id);
    }),
  );
  sftp.on("LSTAT", (id, path) => on("readdir", id, () => sftp.attrs(id, attrsOf(pathOf(path)))));
  sftp.on("FSTAT", (id, handle) =>
    on("readdir", id, () => {
      const { mode, uid, gid, size } = fstatSync(fileOf(handle).file);
      sftp.attrs(id, { mode, uid, gid, size, atime: 0, mtime: 0 });
    }),
  );
  sftp.on("OPENDIR", (id, path) =>
    on("readdir", id, () =>
      sftp.handle(
        id,
        newHandle({ names: readdirSync(pathOf(path)).map((name) => join(path, name)) }),
      ),
    ),
  );
  sftp.on("READDIR", (id, handle) =>
    on("readdir", id, () => {
      const found = handles.get(handle.toString("hex"));
      if (!found || !("names" in found) || found.names === null) {
        sftp.status(id, STATUS_CODE.EOF);
        return;
      }
      const { names } = found;
      if (state.endless_names > 0) {
        const name = (at: number) => `${state.requests}-${at}.xml`.padStart(200, "n");
        const made = Array.from({ length: state.endless_names }, (_, at) => name(at));
        sftp.name(
          id,
          made.map((filename) => ({ filename, longname: "", attrs: MADE_UP })),
        );
        return;
      }
      found.names = null;
      sftp.name(
        id,
        names.map((path) => {
          const filename = path.split("/").at(-1)!;
          const attrs = attrsOf(pathOf(path));
          const size = state.said_sizes[filename] ?? attrs.size;
          return { filename, longname: path, attrs: { ...attrs, size } };
        }),
      );
    }),
  );
  sftp.on("RENAME", (id, from, to) =>
    on("rename", id, () => {
      renameSync(pathOf(from), pathOf(to));
      done(id);
    }),
  );
  sftp.on("REMOVE", (id, path) =>
    on("remove", id, () => {
      unlinkSync(pathOf(path));
      done(id);
    }),
  );
}

const MADE_UP = { mode: 0o100640, uid: 0, gid: 0, size: 4, atime: 0, mtime: 0 };

function attrsOf(path: string) {
  const { mode, uid, gid, size, atimeMs, mtimeMs } = lstatSync(path);
  const seconds = (ms: number) => Math.floor(ms / 1_000);
  return { mode, uid, gid, size, atime: seconds(atimeMs), mtime: seconds(mtimeMs) };
}
