import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A request that is sent repeatedly; only its Idempotency-Key differs. */
export type Shot = { method: "GET" | "POST"; path: string; api_key: string; body?: string };

export type LoadResult = {
  /** Answered within the time. */
  requests: number;
  /** All answered requests: those in flight at the end are awaited. */
  answered: number;
  per_second: number;
  /** Mean time from sending a request to the end of its response. */
  mean_ms: number;
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
};

const KEY_DIGITS = 16;
const LAST_ANSWERS_MAX_MS = 30_000;
const HEAD_END = Buffer.from("\r\n\r\n");
const OK = Buffer.from("HTTP/1.1 200 ");
const LENGTH = /\r\ncontent-length: *(\d+)/i;

let keys_used = Math.floor(Math.random() * 0xffff_ffff) * 0x1_0000;

/**
 * One keep-alive connection per shot, with one request in flight on each. Uses raw sockets and
 * prebuilt requests, because the load shares the processors with what it measures. Any response
 * other than 200 ends the run.
 */
export async function runLoad(url: string, shots: Shot[], seconds: number): Promise<LoadResult> {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(shots.map(() => openSocket(hostname, Number(port))));
  const latencies: number[] = [];
  const end_ms = performance.now() + seconds * 1000;
  let requests = 0;
  const onAnswer = (latency_ms: number, now_ms: number) => {
    latencies.push(latency_ms);
    if (now_ms <= end_ms) requests += 1;
    return now_ms < end_ms;
  };
  try {
    const running = shots.map((shot, at) => repeat(sockets[at]!, hostname, shot, onAnswer));
    const late = sleep(seconds * 1000 + LAST_ANSWERS_MAX_MS, "late", { ref: false });
    if ((await Promise.race([Promise.all(running), late])) === "late") {
      throw new Error("some requests were never answered");
    }
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  const sorted = Float64Array.from(latencies).sort();
  const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]!;
  return {
    requests,
    answered: latencies.length,
    per_second: requests / seconds,
    mean_ms: sorted.reduce((sum, latency) => sum + latency, 0) / sorted.length,
    p50_ms: at(0.5),
    p95_ms: at(0.95),
    p99_ms: at(0.99),
  };
}

function openSocket(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true });
    socket.once("connect", () => resolve(socket));
    socket.once("error", reject);
  });
}

/** Sends the shot until `onAnswer` says to stop. */
function repeat(
  socket: Socket,
  host: string,
  shot: Shot,
  onAnswer: (latency_ms: number, now_ms: number) => boolean,
): Promise<void> {
  const { bytes, key_at } = toRequest(host, shot);
  return new Promise((resolve, reject) => {
    let sent_ms = 0;
    const send = () => {
      // The last request was answered, so its bytes can be overwritten.
      if (key_at !== null) bytes.write(nextKey(), key_at, "latin1");
      sent_ms = performance.now();
      socket.write(bytes);
    };
    const answer = answerReader(() => {
      const now_ms = performance.now();
      if (onAnswer(now_ms - sent_ms, now_ms)) send();
      else resolve();
    });
    socket.on("data", (chunk: Buffer) => {
      try {
        answer(chunk);
      } catch (error) {
        reject(error);
      }
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a connection")));
    send();
  });
}

function nextKey(): string {
  keys_used += 1;
  return keys_used.toString(16).padStart(KEY_DIGITS, "0");
}

function toRequest(host: string, shot: Shot): { bytes: Buffer; key_at: number | null } {
  const name = "Idempotency-Key: ";
  const lines = [
    `${shot.method} ${shot.path} HTTP/1.1`,
    `Host: ${host}`,
    `Authorization: Bearer ${shot.api_key}`,
    ...(shot.body === undefined
      ? []
      : [
          "Content-Type: application/json",
          `Content-Length: ${Buffer.byteLength(shot.body)}`,
          `${name}${"0".repeat(KEY_DIGITS)}`,
        ]),
  ];
  const head = `${lines.join("\r\n")}\r\n\r\n`;
  const found = head.indexOf(name);
  const key_at = found < 0 ? null : found + name.length;
  return { bytes: Buffer.from(head + (shot.body ?? "")), key_at };
}

/** Reads chunks and calls back at the end of each response. */
function answerReader(onEnd: () => void): (chunk: Buffer) => void {
  let head: Buffer | null = null;
  let body_missing = 0;
  return (chunk) => {
    if (body_missing > 0) {
      body_missing -= chunk.length;
    } else {
      head = head ? Buffer.concat([head, chunk]) : chunk;
      const end = head.indexOf(HEAD_END);
      if (end < 0) return;
      if (head.compare(OK, 0, OK.length, 0, OK.length) !== 0) {
        throw new Error(`not answered with 200: ${head.toString("utf8").slice(0, 2000)}`);
      }
      const length = LENGTH.exec(head.toString("latin1", 0, end))?.[1];
      if (length === undefined) throw new Error("an answer came without a length");
      body_missing = end + HEAD_END.length + Number(length) - head.length;
    }
    if (body_missing < 0) throw new Error("an answer is longer than it says");
    if (body_missing > 0) return;
    head = null;
    onEnd();
  };
}
