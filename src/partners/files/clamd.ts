import { connect, type Socket } from "node:net";
import { Refusal } from "../../platform/errors.ts";
import type { FileScan } from "./file-store.ts";

/** `host:port`, or the path of a socket. */
type ClamdAddress = { host: string; port: number } | { path: string };

const TIMEOUT_MS = 30_000;
const RETRY_AFTER_SECONDS = 10;
/** The answer is one line, such as `stream: OK`. */
const ANSWER_BYTES_MAX = 4096;

/**
 * Passes a file on while clamd reads it too (its INSTREAM command), and fails at the end of it if
 * clamd has found something. Without an answer of clamd no file is accepted.
 */
export function createClamdScan(address: ClamdAddress): FileScan {
  return async function* scan(content) {
    const clamd = openClamd(address);
    try {
      await clamd.send(Buffer.from("zINSTREAM\0"));
      for await (const chunk of content) {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(chunk.length);
        await clamd.send(Buffer.concat([length, chunk]));
        yield chunk;
      }
      await clamd.send(Buffer.alloc(4));
      judge(await clamd.answer());
    } finally {
      clamd.close();
    }
  };
}

/** `stream: OK`, `stream: <name> FOUND`, or `<problem> ERROR`. */
function judge(answer: string): void {
  if (answer === "stream: OK") return;
  if (answer.endsWith(" FOUND")) throw new Refusal("file_infected");
  throw unavailable();
}

function unavailable(): Refusal {
  const message = "Files cannot be checked for malware right now; try again later.";
  return new Refusal("unavailable", message, RETRY_AFTER_SECONDS);
}

function openClamd(address: ClamdAddress) {
  const socket: Socket = connect({ ...address, timeout: TIMEOUT_MS });
  let received = Buffer.alloc(0);
  const ended = new Promise<string>((resolve, reject) => {
    const fail = () => reject(unavailable());
    socket.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const end = received.indexOf(0);
      if (end >= 0) resolve(received.toString("utf8", 0, end).trim());
      else if (received.length > ANSWER_BYTES_MAX) fail();
    });
    socket.on("error", fail);
    socket.on("timeout", fail);
    socket.on("close", fail);
  });
  // Whoever waits for the answer hears of it; before that, sending fails.
  ended.catch(() => {});
  return {
    /** Waits until clamd takes more; if clamd answers early, the rest is not needed. */
    send: (bytes: Buffer) => {
      const sent = new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
      return Promise.race([sent, ended.then(() => {})]);
    },
    answer: () => ended,
    close: () => socket.destroy(),
  };
}
