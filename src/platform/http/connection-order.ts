import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

type AfterEarlier = (request: IncomingMessage, answer: ServerResponse, begin: () => void) => void;

/**
 * A client may send requests without waiting for answers, which it gets in the same order. Work on
 * each begins when the one before it is answered: otherwise a single connection could start
 * thousands at once, which everybody else's requests would wait for. Other connections have their
 * turn in between. Requests of a client that is gone by then never begin: nobody reads their
 * answers, and old versions of Node emit no `close` for them, which some of their work waits for.
 */
export function createConnectionOrder(): AfterEarlier {
  const last = new WeakMap<Socket, ServerResponse>();
  return ({ socket }, answer, begin) => {
    const earlier = last.get(socket);
    last.set(socket, answer);
    if (!earlier || earlier.closed) {
      begin();
      return;
    }
    earlier.once("close", () =>
      setImmediate(() => {
        if (!socket.destroyed) begin();
      }),
    );
  };
}
