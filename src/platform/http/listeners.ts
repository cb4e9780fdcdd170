import { once } from "node:events";
import { type AddressInfo, createServer, type ListenOptions, type Server } from "node:net";
import type { FastifyInstance } from "fastify";
import { runForNobody } from "../db/caller-context.ts";

/** One socket accepts one connection in a turn of the event loop. */
const LISTENERS = 64;

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
  const reservation = await reserve(place);
  try {
    return await listenTogether(app, place);
  } finally {
    reservation?.close();
  }
}

/**
 * Sockets that share a port do not notice another program that shares it, too. The reservation has
 * a name of its own, which only one program can have: two may start at the same moment.
 */
async function reserve(place: Place): Promise<Server | null> {
  if (place.port === 0) return null;
  const reservation = createServer();
  await begin(reservation, { path: `\0sliproad-${place.host}-${place.port}` });
  const probe = createServer();
  try {
    await begin(probe, place);
  } catch (error) {
    reservation.close();
    throw error;
  }
  probe.close();
  await once(probe, "close");
  return reservation;
}

async function listenTogether(app: FastifyInstance, place: Place): Promise<number> {
  const more = Array.from({ length: LISTENERS - 1 }, () => createListener(app));
  closeWith(app, more);
  await app.listen({ ...place, reusePort: true } as Place);
  const { address: host, port } = app.server.address() as AddressInfo;
  await Promise.all(more.map((listener) => begin(listener, { host, port, reusePort: true })));
  return port;
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
