import { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { Refusal } from "../../platform/errors.ts";

/** Headers that a proxy may have added, and that any caller could forge. */
const FORWARDED = /^(forwarded|x-forwarded-.*)$/;

/** The library needs time that grows with the square of their number. */
const PARAMETERS_MAX = 100;
/** What an authorization asks for is stored until the person is back, and anybody may ask. */
const URL_LENGTH_MAX = 4_096;

/**
 * The request as the OAuth library must see it: under the public URL, whatever host the caller
 * named, and with the body that was already read.
 */
export function replayRequest(
  request: FastifyRequest,
  public_url: string,
  form?: string,
): IncomingMessage {
  const { protocol, host, pathname } = new URL(public_url);
  const { raw } = request;
  if ((raw.url ?? "").split("&").length > PARAMETERS_MAX) {
    throw new Refusal("bad_request", `Send at most ${PARAMETERS_MAX} query parameters.`);
  }
  if ((raw.url ?? "").length > URL_LENGTH_MAX) {
    throw new Refusal("bad_request", `Send a URL of at most ${URL_LENGTH_MAX} characters.`);
  }
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
  // The library derives the path prefix of the public URL by comparing the two.
  Object.assign(replayed, { originalUrl: `${pathname.replace(/\/$/, "")}${replayed.url}` });
  if (form !== undefined) replayed.push(Buffer.from(form));
  replayed.push(null);
  replayed.complete = true;
  return replayed;
}
