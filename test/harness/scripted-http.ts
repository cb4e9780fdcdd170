import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type SeenRequest = {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Null if the script answers without reading it. */
  body: Buffer | null;
  arrived_ms: number;
};

/** What to do with one request. It may answer, answer badly, or not at all. */
export type Step = (response: ServerResponse) => void;

/** A server that handles the first request with the first step, and so on. */
export type ScriptedServer = {
  url: string;
  requests: SeenRequest[];
  /** Replaces the script; the last step is used for all further requests. */
  play(...steps: Step[]): void;
  close(): Promise<void>;
};

export async function startScriptedServer(
  options: { reads_bodies?: boolean } = {},
): Promise<ScriptedServer> {
  const requests: SeenRequest[] = [];
  let script: Step[] = [];
  const server = createServer(async (request, response) => {
    const step = script.length > 1 ? script.shift()! : script[0]!;
    const seen: SeenRequest = {
      method: request.method!,
      path: request.url!,
      headers: request.headers,
      body: null,
      arrived_ms: performance.now(),
    };
    requests.push(seen);
    if (options.reads_bodies !== false) {
      // A client that disconnects during its request needs no answer.
      const chunks = await request.toArray().catch(() => null);
      if (!chunks) return;
      seen.body = Buffer.concat(chunks);
    }
    step(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    play: (...steps) => {
      script = steps;
      requests.length = 0;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function answer(
  status: number,
  body: unknown,
  headers: Record<string, string | number> = {},
): Step {
  return (response) => {
    const is_text = typeof body === "string";
    response.writeHead(status, {
      "content-type": is_text ? "text/html" : "application/json",
      ...headers,
    });
    response.end(is_text ? body : JSON.stringify(body));
  };
}

/** The connection breaks before any answer. */
export const resetConnection: Step = (response) => response.socket!.resetAndDestroy();

/** The connection breaks in the middle of an answer. */
export const breakOff: Step = (response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.write('{"user":', () => response.socket!.resetAndDestroy());
};

/** There is never an answer. */
export const staySilent: Step = () => {};

/** The answer begins and never ends. */
export const stall: Step = (response) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.write('{"user":');
};
