import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isDrained } from "./drain.ts";

/** What clients that send or read slowly may occupy, all together. */
const BYTES_MAX = 256 * 1024 * 1024;
/** A connection with less than this may wait for us, and is never closed. */
const USUAL_BYTES_MAX = 16 * 1024;
const LOOK_EVERY_MS = 250;

type Open = {
  request: IncomingMessage;
  answer: ServerResponse;
  header_bytes: number;
  /** What the connection had received before this request. */
  bytes_before: number;
};

type WatchClient = (request: IncomingMessage, answer: ServerResponse) => void;

/**
 * A body that still arrives is kept in memory, and so is an answer until its client has read it,
 * with all requests behind it on the connection. A client may be slow at both, and open many
 * connections: some thousands that never read would use up the memory. Above the limit the
 * connections of the oldest requests are closed until half of it is left.
 */
export function createSlowClients(
  onClosed: (connections: number) => void,
  bytes_max: number = BYTES_MAX,
): WatchClient {
  // In the order of their arrival.
  const all = new Set<Open>();
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    // Old versions of Node emit no `close` for the answers that were still to follow.
    for (const open of all) if (open.request.socket.destroyed) all.delete(open);
    if (all.size === 0) {
      clearInterval(timer);
      timer = undefined;
      return;
    }
    const closed = closeOldest(all, bytes_max);
    if (closed > 0) onClosed(closed);
  };
  return (request, answer) => {
    const header_bytes = request.rawHeaders.reduce((bytes, text) => bytes + text.length, 0);
    const open = { request, answer, header_bytes, bytes_before: request.socket.bytesRead };
    all.add(open);
    answer.once("close", () => all.delete(open));
    timer ??= setInterval(look, LOOK_EVERY_MS).unref();
  };
}

function closeOldest(all: ReadonlySet<Open>, bytes_max: number): number {
  const by_connection = new Map<Socket, number>();
  let sum = 0;
  for (const open of all) {
    const { socket } = open.request;
    const bytes = bytesOf(open);
    sum += bytes;
    by_connection.set(socket, (by_connection.get(socket) ?? 0) + bytes);
  }
  if (sum <= bytes_max) return 0;
  let closed = 0;
  for (const [socket, bytes] of by_connection) {
    if (sum <= bytes_max / 2) break;
    if (bytes <= USUAL_BYTES_MAX) continue;
    socket.destroy();
    sum -= bytes;
    closed += 1;
  }
  return closed;
}

/** What a request occupies only because of its client. */
function bytesOf({ request, answer, header_bytes, bytes_before }: Open): number {
  const is_kept = !request.complete && !isFile(request) && !isDrained(request);
  const received = is_kept ? request.socket.bytesRead - bytes_before : 0;
  return header_bytes + received + answer.writableLength;
}

/** Files are stored as they arrive. */
function isFile({ headers }: IncomingMessage): boolean {
  return /^multipart\//i.test(headers["content-type"] ?? "");
}
