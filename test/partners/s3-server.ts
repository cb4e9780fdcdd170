import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "s3rver";
import type { S3Settings } from "../../src/partners/files/s3/client.ts";

export const BUCKET = "sliproad-files";

export type S3Server = {
  settings: S3Settings;
  /** The same as the operator's settings. */
  environment: Record<string, string>;
  /** Requests that reach it are refused, hang, or pass. */
  mode(mode: "up" | "refusing" | "silent"): void;
  close(): Promise<void>;
};

/** A server of the S3 protocol on this machine, with one empty bucket, behind a proxy of ours. */
export async function startS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), "sliproad-s3-"));
  const s3 = new S3rver({
    ...{ port: 0, address: "127.0.0.1", silent: true, directory },
    configureBuckets: [{ name: BUCKET, configs: [] }],
  });
  const { port } = await s3.run();
  const proxy = await startProxy(port);
  const endpoint = `http://127.0.0.1:${proxy.port}`;
  const settings: S3Settings = {
    ...{ bucket: BUCKET, endpoint, region: "us-east-1", path_style: true },
    ...{ access_key_id: "S3RVER", secret_access_key: "S3RVER" },
  };
  return {
    settings,
    environment: {
      SLIPROAD_S3_BUCKET: BUCKET,
      SLIPROAD_S3_ENDPOINT: endpoint,
      SLIPROAD_S3_ACCESS_KEY_ID: settings.access_key_id,
      SLIPROAD_S3_SECRET_ACCESS_KEY: settings.secret_access_key,
    },
    mode: proxy.mode,
    close: async () => {
      await proxy.close();
      await s3.close();
      await rm(directory, { recursive: true });
    },
  };
}

async function startProxy(target_port: number) {
  let mode: "up" | "refusing" | "silent" = "up";
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    if (mode === "refusing") return socket.destroy();
    if (mode === "silent") return socket.resume();
    const target = connect(target_port, "127.0.0.1");
    target.on("error", () => socket.destroy());
    socket.on("close", () => target.destroy());
    socket.pipe(target).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    mode: (next: typeof mode) => {
      mode = next;
      cut();
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
