import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { waitFor } from "./wait-for.ts";

export type Received = {
  path: string;
  headers: IncomingHttpHeaders;
  raw: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: a body is whatever was sent.
  body: any;
  /** The status it was answered with. */
  status: number;
};

type Reply = { status: number; headers?: Record<string, string>; body?: string };

/** How to answer: a status, a whole reply, or "hang" for no answer at all. */
export type Answering = (request: Omit<Received, "status">) => number | Reply | "hang";

/** A webhook receiver on loopback that records its requests. */
export type Receiver = {
  url: string;
  received: Received[];
  answer(how: Answering): void;
  /** Waits until this many requests were answered, and returns all. */
  waitFor(count: number): Promise<Received[]>;
  close(): Promise<void>;
};

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const hanging = new Set<ServerResponse>();
  let answering: Answering = () => 200;
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const raw = Buffer.concat(chunks);
      const body = raw.length > 0 ? JSON.parse(raw.toString()) : null;
      const about = { path: request.url!, headers: request.headers, raw, body };
      const how = answering(about);
      if (how === "hang") {
        hanging.add(response);
        received.push({ ...about, status: 0 });
        return;
      }
      const reply = typeof how === "number" ? { status: how } : how;
      response.writeHead(reply.status, reply.headers).end(reply.body ?? "");
      received.push({ ...about, status: reply.status });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answer: (how) => {
      answering = how;
    },
    waitFor: (count) => waitFor(() => received.length >= count && received),
    close: async () => {
      for (const response of hanging) response.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
