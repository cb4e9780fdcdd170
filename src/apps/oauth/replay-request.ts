import { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";

/** What a proxy may have added, and anybody may have written. */
const FORWARDED = /^(forwarded|x-forwarded-.*)$/;

/**
 * The request as the OAuth library shall see it: under the public address, whatever host the
 * caller named, and with the body that was read already.
 */
export function replayRequest(
  request: FastifyRequest,
  public_url: string,
  form?: string,
): IncomingMessage {
  const { protocol, host, pathname } = new URL(public_url);
  const { raw } = request;
  const kept = Object.entries(raw.headers).filter(([name]) => !FORWARDED.test(name));
  const replayed = new IncomingMessage(raw.socket);
  replayed.method = raw.method ?? "GET";
  replayed.url = raw.url ?? "/";
  replayed.headers = {
    ...Object.fromEntries(kept),
    host,
    "x-forwarded-proto": protocol.slice(0, -1),
    ...(form === undefined ? {} : { "content-length": String(Buffer.byteLength(form)) }),
  };
  if (form !== undefined) delete replayed.headers["transfer-encoding"];
  // The library finds the path that the public address begins with by comparing the two.
  Object.assign(replayed, { originalUrl: `${pathname.replace(/\/$/, "")}${replayed.url}` });
  if (form !== undefined) replayed.push(Buffer.from(form));
  replayed.push(null);
  replayed.complete = true;
  return replayed;
}
