import { once } from "node:events";
import { type AddressInfo, createServer, type ListenOptions, type Server } from "node:net";
import type { FastifyInstance } from "fastify";
import { runForNobody } from "../db/caller-context.ts";

/** One socket accepts one connection in a turn of the event loop. */
const LISTENERS = 8;

type Place = { host: string; port: number };

/**
 * Listens with several sockets on one port, among which Linux divides new connections: many of them
 * at once wait a shorter time. Any port that is free is used for port 0.
 */
export async function listenOnPort(app: FastifyInstance, place: Place): Promise<number> {
  if (process.platform !== "linux") {
    await app.listen(place);
    return portOf(app.server);
  }
  await checkUnused(place);
  const more = Array.from({ length: LISTENERS - 1 }, () => createListener(app));
  closeWith(app, more);
  await app.listen({ ...place, reusePort: true } as Place);
  const { address: host, port } = app.server.address() as AddressInfo;
  await Promise.all(more.map((listener) => begin(listener, { host, port, reusePort: true })));
  return port;
}

/** Sockets that share a port do not notice another program that shares it, too. */
async function checkUnused(place: Place): Promise<void> {
  if (place.port === 0) return;
  const probe = createServer();
  await begin(probe, place);
  probe.close();
  await once(probe, "close");
}

/** Its connections are those of the HTTP server, which has the same options. */
function createListener(app: FastifyInstance): Server {
  return createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    app.server.emit("connection", socket);
  });
}

function closeWith(app: FastifyInstance, listeners: Server[]): void {
  let closed: Promise<unknown>[] = [];
  app.addHook("preClose", async () => {
    const listening = listeners.filter((listener) => listener.listening);
    closed = listening.map((listener) => once(listener, "close"));
    for (const listener of listening) listener.close();
  });
  // Their last connections may end after those of the HTTP server itself.
  app.addHook("onClose", () => Promise.all(closed));
}

async function begin(server: Server, options: ListenOptions): Promise<void> {
  runForNobody(() => server.listen(options));
  await once(server, "listening");
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;
