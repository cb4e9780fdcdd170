import { randomBytes } from "node:crypto";
import Type from "typebox";
import { judgeFile } from "../../../src/partners/files/judge-file.ts";
import { keepFile } from "../../../src/partners/files/keep-file.ts";
import { openLocalDirectory } from "../../../src/partners/files/local-directory.ts";
import type { DiskLimits } from "../../../src/partners/files/temporary-files.ts";
import type { CommandRequest } from "../../../src/platform/commands/executor.ts";
import { openStream, sealStream } from "../../../src/platform/encryption/sealed-stream.ts";
import { notFound, Refusal } from "../../../src/platform/errors.ts";
import { addOpenApi } from "../../../src/platform/http/docs.ts";
import { createServer } from "../../../src/platform/http/server.ts";
import { addUploadRoute } from "../../../src/platform/http/uploads/upload-route.ts";

export const ACCOUNT_ID = "0195d2a0-0000-7000-8000-00000000000a";
export const UNKNOWN_ID = "0195d2a0-0000-7000-8000-000000000404";
export const LOCKED_ID = "0195d2a0-0000-7000-8000-000000000422";
/** Of a disk without any space. */
export const FULL: DiskLimits = {
  free_bytes_min: Number.MAX_SAFE_INTEGER,
  reserve_bytes: Number.MAX_SAFE_INTEGER,
  little_bytes: 0,
};
export const BYTES_MAX = 5 * 1024 * 1024;

type Input = { version: string; hash: string; type: string; size: number };

/** A server with one upload route on a real directory; it records the commands received. */
export async function startUploadServer(data_dir: string, disk_limits?: DiskLimits) {
  const store = await openLocalDirectory(data_dir, disk_limits);
  const commands: CommandRequest<Input>[] = [];
  const log: string[] = [];
  const key = randomBytes(32);
  const server = createServer({
    log_level: "error",
    log_destination: { write: (line) => void log.push(line) },
    public_url: () => "http://127.0.0.1",
    trusted_proxies: [],
    rate_limit: 0,
    rate_limit_anonymous: 0,
    stalled_seconds: 120,
    authenticate: async (text) =>
      text === "sk_test" ? { account_id: ACCOUNT_ID, credential_id: "k", key_label: "k" } : null,
  });
  const place = (record_id: string) => ({
    account_id: ACCOUNT_ID,
    table: "documents",
    column: "file",
    record_id,
  });
  await addOpenApi(server);
  addUploadRoute(
    server,
    randomBytes(32),
    { ...store, judge: judgeFile },
    {
      path: "/records/:record_id/documents",
      operation: "uploadDocument",
      summary: "Upload a document",
      description: "Only for this test.",
      tag: "Records",
      answer: Type.Object({ message: Type.String() }, { title: "DocumentUploaded" }),
      errors: ["offramp_not_editable"],
      bytes_max: BYTES_MAX,
      prepare: async (_caller, { record_id }) => {
        if (record_id === UNKNOWN_ID) throw Refusal.of([notFound("record_id")]);
        return { seal: () => sealStream(key, place(record_id!)) };
      },
      handle: async ({ caller, params, file, command }) => {
        const { temporary_key, ...facts } = file;
        const version = `v${commands.length}`;
        const request = command({ ...facts, version });
        const record_id = params.record_id!;
        const file_key = { account_id: caller.account_id, record_id, version };
        return keepFile(store, temporary_key, file_key, async () => {
          if (record_id === LOCKED_ID) throw new Refusal("offramp_not_editable");
          commands.push(request);
          return { body: '{"message":"uploaded"}', replayed: false };
        });
      },
    },
  );
  const memory = watchMemory();
  server.get("/memory", async () => memory());
  const url = await server.listen({ host: "127.0.0.1", port: 0 });
  const readKept = async (record_id: string, version: string) => {
    const sealed = await store.openRead({ account_id: ACCOUNT_ID, record_id, version });
    return Buffer.concat(await sealed.pipe(openStream(key, place(record_id))).toArray());
  };
  return { url, server, store, commands, log, readKept };
}

export type UploadServer = Awaited<ReturnType<typeof startUploadServer>>;

/** The memory in use (if the garbage collector can be called), and its maximum. */
function watchMemory() {
  let peak_rss = 0;
  setInterval(() => {
    peak_rss = Math.max(peak_rss, process.memoryUsage.rss());
  }, 5).unref();
  return () => {
    globalThis.gc?.();
    return { peak_rss, live_buffers: process.memoryUsage().arrayBuffers };
  };
}
