import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

type AwaitEarlier = (request: IncomingMessage, answer: ServerResponse) => Promise<void> | undefined;

/**
 * A client may send requests without waiting for answers, which it gets in the same order. Work on
 * each begins when the one before it is answered: otherwise a single connection could start
 * thousands at once, which everybody else's requests would wait for. Other connections have their
 * turn in between. Requests of a client that is gone by then never begin: nobody reads their
 * answers, and old versions of Node emit no `close` for them, which some of their work waits for.
 */
export function createConnectionOrder(): AwaitEarlier {
  const last = new WeakMap<Socket, ServerResponse>();
  return ({ socket }, answer) => {
    const earlier = last.get(socket);
    last.set(socket, answer);
    if (!earlier || earlier.closed) return undefined;
    return new Promise((done) => {
      const begin = () => {
        if (!socket.destroyed) done();
      };
      earlier.once("close", () => setImmediate(begin));
    });
  };
}
