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
      await clamd.finish();
    } finally {
      clamd.close();
    }
  };
}

/**
 * Why the file is not accepted. The answer is `stream: OK`, `stream: <name> FOUND`, or `<problem>
 * ERROR`; an OK that comes before the end of the file is about a part of it only.
 */
function problemOf(answer: string, is_whole: boolean): Refusal | undefined {
  if (answer.endsWith(" FOUND")) return new Refusal("file_infected");
  return answer === "stream: OK" && is_whole ? undefined : unavailable();
}

function unavailable(): Refusal {
  const message = "Files cannot be checked for malware right now; try again later.";
  return new Refusal("unavailable", message, RETRY_AFTER_SECONDS);
}

function openClamd(address: ClamdAddress) {
  const socket: Socket = connect({ ...address, timeout: TIMEOUT_MS });
  let received = Buffer.alloc(0);
  let is_whole = false;
  const accepted = new Promise<void>((resolve, reject) => {
    const refuse = (problem: Refusal) => {
      reject(problem);
      socket.destroy();
    };
    const fail = () => refuse(unavailable());
    socket.on("data", (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const end = received.indexOf(0);
      if (end < 0 && received.length <= ANSWER_BYTES_MAX) return;
      const problem = problemOf(received.toString("utf8", 0, Math.max(end, 0)).trim(), is_whole);
      if (problem) refuse(problem);
      else resolve();
    });
    socket.on("error", fail);
    socket.on("timeout", fail);
    socket.on("close", fail);
  });
  // Whoever sends or finishes next hears of it.
  accepted.catch(() => {});
  return {
    /** Waits until clamd takes more; rejects if clamd has already answered. */
    send: (bytes: Buffer) => {
      const sent = new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
      return Promise.race([accepted, sent]);
    },
    /** Sends the end of the file, an empty chunk; rejects unless clamd then calls it clean. */
    finish: () => {
      is_whole = true;
      socket.write(Buffer.alloc(4));
      return accepted;
    },
    close: () => socket.destroy(),
  };
}
