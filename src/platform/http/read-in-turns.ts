import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { LoopTurns } from "./loop-turns.ts";

type Body = {
  request: IncomingMessage;
  sender: string;
  turns: LoopTurns;
  /** Of one sender the bodies that arrived first are read first, so that some are complete. */
  place: number;
  /** A block has arrived since its last turn. */
  is_stopped: boolean;
  is_waiting: boolean;
  /** Waits no more. */
  leave: () => boolean;
};

const bodies = new WeakMap<Socket, Body>();

/** Call it once for each connection; `readInTurns` says whose turns its bodies need. */
export function gateReading(socket: Socket): void {
  const resume = socket.resume.bind(socket);
  // Node calls it when more of a body is asked for.
  socket.resume = () => {
    const body = bodies.get(socket);
    if (!body?.is_stopped || body.request.complete) return resume();
    if (body.is_waiting) return socket;
    body.is_waiting = true;
    const readOn = () => {
      body.is_waiting = false;
      body.is_stopped = false;
      resume();
    };
    body.leave = body.turns.wait(body.sender, readOn, body.place);
    return socket;
  };
}

/**
 * The rest of a body is read in turns, a block of at most 64 KiB in each: otherwise whatever has
 * arrived on all connections is read, and the bodies that are complete processed, before anybody
 * else is answered. That can take seconds, most if the bodies consist of small chunks.
 */
export function readInTurns(request: IncomingMessage, sender: string, turns: LoopTurns): void {
  const state = { is_stopped: false, is_waiting: false, leave: () => false };
  const body: Body = { request, sender, turns, place: turns.takePlace(), ...state };
  bodies.set(request.socket, body);
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null, encoding) => {
    const has_room = push(chunk, encoding);
    if (chunk === null) return has_room;
    body.is_stopped = true;
    // Node stops reading from the connection until more of the body is asked for.
    return false;
  };
  request.once("close", () => body.leave());
}
