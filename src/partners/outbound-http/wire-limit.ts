import type { Socket } from "node:net";
import { SendError } from "./send-error.ts";

/** Headers, interim answers, and what a chunked body needs between its chunks. */
const FRAMING_BYTES_MAX = 512 * 1024;
const FLOOD = "The server sent too much data outside the body of its response.";

/**
 * Counts what arrives on a connection, and closes it with an error above the limit: parsers skip
 * the extensions of chunks, which have no end, without reporting them. A new request begins anew.
 */
export function limitReceived(socket: Socket, answer_bytes_max: number): (bytes: number) => void {
  const bytes_max = 2 * answer_bytes_max + FRAMING_BYTES_MAX;
  let received = 0;
  let written = socket.bytesWritten;
  return (bytes) => {
    const { bytesWritten } = socket;
    received = bytes + (bytesWritten === written ? received : 0);
    written = bytesWritten;
    if (received > bytes_max) socket.destroy(new SendError("protocol", FLOOD));
  };
}
