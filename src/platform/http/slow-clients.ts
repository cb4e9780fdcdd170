import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type AddressOf, callerNetwork } from "./caller-network.ts";
import { isDrained } from "./drain.ts";

/** What clients that send or read slowly may occupy, all together. */
const BYTES_MAX = 256 * 1024 * 1024;
/** A connection with less than this may wait for us, and is never closed. */
const USUAL_BYTES_MAX = 16 * 1024;
const LOOK_EVERY_MS = 250;

type Open = {
  request: IncomingMessage;
  answer: ServerResponse;
  network: string;
  header_bytes: number;
  /** What the connection had received before this request. */
  bytes_before: number;
};

type WatchClient = (request: IncomingMessage, answer: ServerResponse) => void;

/**
 * A body that still arrives is kept in memory, and so is an answer until its client has read it,
 * with all requests behind it on the connection. A client may be slow at both, and open many
 * connections: some thousands that never read would use up the memory. Above the limit connections
 * are closed until half of it is left: of those who occupy most, and of each the oldest first. Who
 * that is says the account, once authentication has named it, else the network: a credential that
 * is made up for each request must not make many senders of one.
 */
export function createSlowClients(
  addressOf: AddressOf,
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
    const closed = closeLargest(all, bytes_max);
    if (closed > 0) onClosed(closed);
  };
  return (request, answer) => {
    const header_bytes = request.rawHeaders.reduce((bytes, text) => bytes + text.length, 0);
    const network = callerNetwork(addressOf(request));
    const open = { request, answer, network, header_bytes, bytes_before: request.socket.bytesRead };
    all.add(open);
    answer.once("close", () => all.delete(open));
    timer ??= setInterval(look, LOOK_EVERY_MS).unref();
  };
}

const accounts = new WeakMap<IncomingMessage, string>();

/** Authentication has named the account of a request. */
export function noteAccount(request: IncomingMessage, account_id: string): void {
  accounts.set(request, account_id);
}

/** What the connections of one sender occupy. */
type Occupied = { bytes: number; by_connection: Map<Socket, number> };

function closeLargest(all: ReadonlySet<Open>, bytes_max: number): number {
  const by_connection = new Map<Socket, { sender: string; bytes: number }>();
  let sum = 0;
  for (const open of all) {
    const { request, network } = open;
    const bytes = bytesOf(open);
    const sender = accounts.get(request) ?? network;
    const known = by_connection.get(request.socket) ?? { sender, bytes: 0 };
    by_connection.set(request.socket, { ...known, bytes: known.bytes + bytes });
    sum += bytes;
  }
  if (sum <= bytes_max) return 0;
  const by_sender = new Map<string, Occupied>();
  for (const [socket, { sender, bytes }] of by_connection) {
    const occupied = by_sender.get(sender) ?? { bytes: 0, by_connection: new Map() };
    occupied.by_connection.set(socket, bytes);
    by_sender.set(sender, { ...occupied, bytes: occupied.bytes + bytes });
  }
  const largest_first = [...by_sender.values()].sort((a, b) => b.bytes - a.bytes);
  const own_max = equalShare(largest_first, bytes_max / 2);
  return largest_first.reduce((closed, occupied) => closed + closeAbove(occupied, own_max), 0);
}

/** How much each may keep so that all together keep this much: whoever has less keeps all. */
function equalShare(largest_first: readonly Occupied[], kept: number): number {
  let left = kept;
  for (let senders = largest_first.length; senders > 0; senders -= 1) {
    const { bytes } = largest_first[senders - 1]!;
    if (bytes * senders > left) return left / senders;
    left -= bytes;
  }
  return Number.POSITIVE_INFINITY;
}

/** The oldest connections first. */
function closeAbove({ bytes: before, by_connection }: Occupied, own_max: number): number {
  let [left, closed] = [before, 0];
  for (const [socket, bytes] of by_connection) {
    if (left <= own_max) break;
    if (bytes <= USUAL_BYTES_MAX) continue;
    socket.destroy();
    left -= bytes;
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
