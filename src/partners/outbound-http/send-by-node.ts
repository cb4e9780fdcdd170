import { type ClientRequest, type IncomingMessage, request as requestByNode } from "node:http";
import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import type { Controller, Exchange } from "./exchange.ts";
import { SendError } from "./send-error.ts";
import { limitReceived } from "./wire-limit.ts";

const HEADERS_BYTES_MAX = 16 * 1024;

/**
 * Sends one request with Node's own client, on a separate connection that is closed afterwards: for
 * answers that undici cannot read, and to replace a kept connection that was closed.
 */
export async function sendByNode(
  open: () => Promise<Socket>,
  { method, path, headers, body }: Dispatcher.DispatchOptions,
  answer_bytes_max: number,
  exchange: Exchange,
): Promise<void> {
  try {
    const socket = await open();
    const outgoing = requestByNode({
      method,
      path,
      headers: headers as Record<string, string>,
      // Also if the connection already uses TLS.
      createConnection: () => socket,
      maxHeaderSize: HEADERS_BYTES_MAX,
    });
    const count = limitReceived(socket, answer_bytes_max);
    // Not earlier: a listener makes the data flow, and the parser would miss it.
    outgoing.once("socket", () => socket.on("data", (part) => count(part.length)));
    report(outgoing, socket, exchange);
    outgoing.end(body as Buffer | null);
  } catch (error) {
    exchange.onResponseError(null, error as Error);
  }
}

/** Reports events to the exchange with undici's methods. */
function report(outgoing: ClientRequest, socket: Socket, exchange: Exchange): void {
  let answer: IncomingMessage | null = null;
  const controller: Controller = {
    abort: (reason) => void socket.destroy(reason),
    pause: () => void answer?.pause(),
    resume: () => void answer?.resume(),
  };
  const fail = (error: Error) => exchange.onResponseError(controller, error);
  outgoing
    .on("information", ({ statusCode }) => exchange.onResponseStart(controller, statusCode, {}))
    .on("upgrade", () => outgoing.destroy(new SendError("protocol", UPGRADE)))
    .on("error", fail)
    .on("response", (incoming) => {
      answer = incoming;
      exchange.onResponseStarted();
      exchange.onResponseStart(controller, incoming.statusCode!, incoming.headers);
      incoming
        .on("data", (chunk: Buffer) => exchange.onResponseData(controller, chunk))
        .on("end", () => exchange.onResponseEnd())
        .on("error", fail);
    });
  exchange.onRequestStart(controller);
}

const UPGRADE = "The server asked to switch to another protocol.";
