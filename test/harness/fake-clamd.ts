import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** The text that this clamd takes for malware. */
export const INFECTED = "INVENTED-MALWARE";

/** Speaks clamd's INSTREAM: chunks with their length before them, an empty one at the end. */
export async function startFakeClamd() {
  let scanned = 0;
  let is_hasty = false;
  const server = createServer((socket) => {
    if (is_hasty) socket.write("stream: OK\0");
    answer(socket, () => (scanned += 1));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    scanned: () => scanned,
    /** From now on every file is called clean before any of it was read. */
    answerAtOnce: () => {
      is_hasty = true;
    },
    stop: async () => {
      server.close();
      await once(server, "close");
    },
  };
}

function answer(socket: Socket, onScanned: () => void): void {
  const command = Buffer.from("zINSTREAM\0");
  let received = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    if (received.length < command.length) return;
    if (!received.subarray(0, command.length).equals(command)) {
      socket.end("UNKNOWN COMMAND\0");
      return;
    }
    const content = readChunks(received.subarray(command.length));
    if (!content) return;
    onScanned();
    const is_infected = content.includes(INFECTED);
    socket.end(is_infected ? "stream: Invented.Malware FOUND\0" : "stream: OK\0");
  });
}

/** The content, once the empty chunk has come. */
function readChunks(bytes: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return undefined;
}
