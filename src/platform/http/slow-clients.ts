import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type AddressOf, callerNetwork } from "./caller-network.ts";
import { isDrained } from "./drain.ts";

/**
 * What clients that send or read slowly may occupy: all of accounts, and all others. These have
 * about 2,000 connections then, fewer than the requests that are begun for them (`overload.ts`).
 */
const LIMITS = { accounts_max: 192 * 1024 * 1024, strangers_max: 32 * 1024 * 1024 };
/** What a connection occupies, and each header of a request, besides the text. */
const CONNECTION_BYTES = 16 * 1024;
const HEADER_BYTES = 100;
/** Whoever occupies less is only disconnected where too many do. */
const OWN_MIN = 4 * CONNECTION_BYTES;
const LOOK_EVERY_MS = 250;

type Open = {
  request: IncomingMessage;
  answer: ServerResponse;
  network: string;
  header_bytes: number;
  /** What the connection had received before this request. */
  bytes_before: number;
};

type WatchClient = (
  request: IncomingMessage,
  answer: ServerResponse,
  account_id: string | undefined,
) => void;

/**
 * A body that still arrives is kept in memory, and so is an answer until its client has read it,
 * with all requests behind it on the connection. A client may be slow at both, and open many
 * connections: some thousands would use up the memory and the file descriptors. Above a limit
 * connections are closed until half of it is left: of those who occupy most, and of each the oldest
 * first. Who that is says the account that the credential names, or authentication has named, else
 * the network: a credential that is made up for each request must not make many senders of one.
 * Accounts and networks without one have limits of their own.
 */
export function createSlowClients(
  addressOf: AddressOf,
  onClosed: (connections: number) => void,
  limits: typeof LIMITS = LIMITS,
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
    const connections = connectionsOf(all);
    const [of_accounts, of_strangers] = [true, false].map((is_account) =>
      connections.filter((connection) => connection.is_account === is_account),
    );
    const closed =
      closeLargest(of_accounts!, limits.accounts_max) +
      closeLargest(of_strangers!, limits.strangers_max);
    if (closed > 0) onClosed(closed);
  };
  return (request, answer, account_id) => {
    if (account_id !== undefined) noteAccount(request, account_id);
    const { rawHeaders, socket } = request;
    const header_bytes = rawHeaders.reduce((bytes, text) => bytes + text.length, 0);
    const open: Open = {
      request,
      answer,
      network: callerNetwork(addressOf(request)),
      header_bytes: header_bytes + (rawHeaders.length / 2) * HEADER_BYTES,
      bytes_before: socket.bytesRead,
    };
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

type Connection = {
  socket: Socket;
  sender: string;
  is_account: boolean;
  bytes: number;
  /** What it occupies, it occupies because of its client: others may wait for us. */
  is_slow: boolean;
};

function connectionsOf(all: ReadonlySet<Open>): Connection[] {
  const by_socket = new Map<Socket, Connection>();
  for (const open of all) {
    const { request, network } = open;
    const { socket } = request;
    const account_id = accounts.get(request);
    const before = by_socket.get(socket);
    const is_waited_for = !request.complete || open.answer.writableLength > 0;
    const bytes = (before?.bytes ?? CONNECTION_BYTES) + bytesOf(open);
    by_socket.set(socket, {
      socket,
      sender: account_id ?? network,
      is_account: account_id !== undefined,
      bytes,
      is_slow: before?.is_slow || is_waited_for || bytes > OWN_MIN,
    });
  }
  return [...by_socket.values()];
}

const sumOf = (connections: readonly Connection[]) =>
  connections.reduce((sum, { bytes }) => sum + bytes, 0);

function closeLargest(connections: readonly Connection[], bytes_max: number): number {
  const slow = connections.filter(({ is_slow }) => is_slow);
  let left = sumOf(slow);
  if (left <= bytes_max) return 0;
  const closed = new Set<Connection>();
  const close = (connection: Connection) => {
    connection.socket.destroy();
    closed.add(connection);
    left -= connection.bytes;
  };
  const by_sender = [...Map.groupBy(slow, ({ sender }) => sender).values()].map((own) => ({
    own,
    bytes: sumOf(own),
  }));
  const largest_first = by_sender.sort((a, b) => b.bytes - a.bytes);
  const own_max = Math.max(equalShare(largest_first, bytes_max / 2), OWN_MIN);
  for (const { own, bytes } of largest_first) {
    let own_left = bytes;
    const { large = [], small = [] } = Object.groupBy(own, (one) =>
      one.bytes > OWN_MIN ? "large" : "small",
    );
    for (const connection of [...large, ...small]) {
      if (own_left <= own_max) break;
      own_left -= connection.bytes;
      close(connection);
    }
  }
  if (left <= bytes_max) return closed.size;
  // Of so many senders each has little.
  for (const connection of slow) {
    if (left <= bytes_max / 2) break;
    if (!closed.has(connection)) close(connection);
  }
  return closed.size;
}

/** How much each may keep so that all together keep this much: whoever has less keeps all. */
function equalShare(largest_first: readonly { bytes: number }[], kept: number): number {
  let left = kept;
  for (let senders = largest_first.length; senders > 0; senders -= 1) {
    const { bytes } = largest_first[senders - 1]!;
    if (bytes * senders > left) return left / senders;
    left -= bytes;
  }
  return Number.POSITIVE_INFINITY;
}

/** What a request occupies only because of its client. */
function bytesOf({ request, answer, header_bytes, bytes_before }: Open): number {
  const is_kept = !request.complete && !isFile(request) && !isDrained(request);
  const received = is_kept ? request.socket.bytesRead - bytes_before : 0;
  return header_bytes + received + answer.writableLength;
}

/** Files are stored as they arrive. */
export function isFile({ headers }: IncomingMessage): boolean {
  return /^multipart\//i.test(headers["content-type"] ?? "");
}
