import { randomUUIDv7 } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Problem, Refusal } from "../errors.ts";
import { VERSION } from "./check-headers.ts";
import { TINY_CHUNKS, TOO_MANY_HEADERS } from "./node-server.ts";
import { securityHeaders } from "./security-headers.ts";

/** For answers that are not pages: never cached. */
export const API_HEADERS = { "Cache-Control": "no-store" };

export function headersOf(public_url: string, request_id: string): Record<string, string> {
  return {
    "X-Request-Id": request_id,
    "Sliproad-Version": VERSION,
    ...securityHeaders(public_url),
  };
}

export function errorBody(public_url: string, refusal: Refusal, request_id: string): string {
  const { problems: errors, problems_omitted: errors_omitted } = refusal;
  return JSON.stringify({
    error_code: refusal.code,
    message: topMessage(refusal, errors),
    status: refusal.status,
    request_id,
    doc_url: `${public_url}/docs/errors#${refusal.code}`,
    ...(errors.length > 0 ? { errors } : {}),
    ...(errors_omitted > 0 ? { errors_omitted } : {}),
  });
}

const OVERLOADED = "Too many requests are waiting. This one was not processed; try again shortly.";

/** Without the framework, whose part of a request costs more than is left. */
export function refuseOverload(public_url: string, answer: ServerResponse): void {
  const request_id = randomUUIDv7();
  const refusal = new Refusal("unavailable", OVERLOADED, 1);
  const body = errorBody(public_url, refusal, request_id);
  answer.writeHead(refusal.status, {
    ...headersOf(public_url, request_id),
    ...API_HEADERS,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    "Retry-After": "1",
  });
  answer.end(body);
}

const UNREADABLE: Record<string, string> = {
  HPE_HEADER_OVERFLOW: "The headers are too large; send less than 16 KB.",
  [TOO_MANY_HEADERS]: "Send at most 200 headers.",
  [TINY_CHUNKS]: "Send the body in larger chunks.",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive completely in time; send it again.",
};

/** The input was not HTTP, so there is no request to reply to: answers on the socket itself. */
export function answerUnreadable(
  public_url: string,
  error: Error & { code?: string; rawPacket?: unknown },
  socket: Socket,
): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const request_id = randomUUIDv7();
  const message = UNREADABLE[error.code ?? ""] ?? "Send a well-formed HTTP request.";
  const refusal = new Refusal("bad_request", message);
  const body = errorBody(public_url, refusal, request_id);
  const headers = {
    ...headersOf(public_url, request_id),
    ...API_HEADERS,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  // An answer to HEAD has no body, even if the rest of the request could not be read.
  const is_head = String(error.rawPacket ?? "").startsWith("HEAD ");
  const content = is_head ? "" : body;
  socket.end(`HTTP/1.1 ${refusal.status} Bad Request\r\n${lines.join("")}\r\n${content}`);
}

/** With a single problem, the top-level message is that problem's. */
function topMessage(refusal: Refusal, errors: readonly Problem[]): string {
  const [only] = errors;
  return errors.length === 1 && only ? `${only.field}: ${only.message}` : refusal.message;
}
