import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebhookEvent, webhooks } from "../../../sdk/src/index.ts";

export type ReceivedEvent = {
  event: WebhookEvent;
  webhook_id: string;
  /** The verified signature, as received. */
  signature: string;
};

/** Of an unverified event only the record id is kept, to tell whether it concerns this demo. */
type RefusedEvent = { offramp_id: string | null; why: string };

/** A webhook receiver on loopback, written as a caller of the SDK would write it. */
export type DemoReceiver = {
  url: string;
  received: readonly ReceivedEvent[];
  /** Events that failed verification. Some may be deliveries for an earlier demo. */
  refused: readonly RefusedEvent[];
  expectSecret(secret: string): void;
  close(): Promise<void>;
};

const BODY_BYTES_MAX = 1_000_000;
const LOOK_MAX_MS = 1_000;
/** The response to a GET that checks whether it is running. */
const SIGN = "a demo of Sliproad is running";

/** Whether a demo listens at this URL; another program may use its port by now. */
export async function isDemoReceiver(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(LOOK_MAX_MS);
  const answer = await fetch(url, { signal, redirect: "manual" }).catch(() => null);
  return (await answer?.text().catch(() => null)) === SIGN;
}

export async function startDemoReceiver(): Promise<DemoReceiver> {
  const received: ReceivedEvent[] = [];
  const refused: RefusedEvent[] = [];
  let secret: string | null = null;
  const server = createServer((request, response) => {
    if (request.method === "GET") return response.end(SIGN);
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > BODY_BYTES_MAX) request.destroy();
      else chunks.push(chunk);
    });
    request.on("end", async () => {
      const body = Buffer.concat(chunks);
      try {
        const event = await webhooks.verify(body, request.headers, secret ?? []);
        received.push({ event, ...identityOf(request.headers) });
      } catch (error) {
        refused.push({ offramp_id: offrampIn(body), why: (error as Error).message });
      }
      // Also for an event that fails verification: a retry would fail too.
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    refused,
    expectSecret: (text) => {
      secret = text;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function identityOf(headers: IncomingHttpHeaders) {
  const webhook_id = String(headers["webhook-id"]);
  return { webhook_id, signature: String(headers["webhook-signature"]) };
}

function offrampIn(body: Buffer): string | null {
  try {
    return JSON.parse(body.toString()).payload.offramp.id;
  } catch {
    return null;
  }
}
