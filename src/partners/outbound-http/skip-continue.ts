import type { Socket } from "node:net";

const BEGINNING = Buffer.from("HTTP/1.1 100");
const END = "\r\n\r\n";

/**
 * Some servers say `100 Continue` to whoever did not ask for it. A client has to bear that
 * (RFC 9110, 15.2), but undici ends the connection: so it is not shown what comes before the
 * answer. Nothing else is held back, and no longer than the exchange may last.
 */
export function skipContinue(socket: Socket, awaitsAnswer: () => boolean): void {
  const read = socket.read.bind(socket);
  let held: Buffer = Buffer.alloc(0);
  socket.read = (): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read();
      if (chunk === null) return null;
      if (held.length === 0 && !(awaitsAnswer() && mayBegin(chunk))) return chunk;
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      while (isWhole(held)) held = held.subarray(held.indexOf(END) + END.length);
      if (held.length > 0 && !mayBegin(held)) {
        const answer = held;
        held = Buffer.alloc(0);
        return answer;
      }
    }
  };
}

function mayBegin(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, BEGINNING.length);
  return BEGINNING.compare(bytes, 0, length, 0, length) === 0;
}

function isWhole(bytes: Buffer): boolean {
  return bytes.length > BEGINNING.length && mayBegin(bytes) && bytes.includes(END);
}
