// A webhook receiver in its own process: answers 200 at once, counts, and records each request's
// delay after its event. Requests to /dead are never answered.
import { createServer } from "node:http";

export type Receipts = { count: number; delays_ms: number[] };

let receipts: Receipts = { count: 0, delays_ms: [] };
let onCount: { count: number; tell: () => void } | null = null;

const server = createServer((request, response) => {
  if (request.method === "GET") {
    if (request.url === "/receipts") return void response.end(JSON.stringify(receipts));
    if (request.url === "/reset") receipts = { count: 0, delays_ms: [] };
    if (request.url?.startsWith("/until/")) {
      onCount = { count: Number(request.url.slice(7)), tell: () => void response.end() };
      reportCount();
      return;
    }
    return void response.end(String(receipts.count));
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (request.url === "/dead") return;
    receipts.count += 1;
    if (request.url !== "/count") {
      const { timestamp } = JSON.parse(Buffer.concat(chunks).toString()) as { timestamp: number };
      receipts.delays_ms.push(Date.now() - timestamp);
    }
    response.writeHead(200).end();
    reportCount();
  });
});

/** Sent once, when the count is reached: polling would take time from what is measured. */
function reportCount(): void {
  if (!onCount || receipts.count < onCount.count) return;
  onCount.tell();
  onCount = null;
}

server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: typeof address === "object" ? address?.port : null });
});
process.once("disconnect", () => process.exit());
