import type { Message, Target } from "./connection.ts";
import { HEADER_NAME, NOT_IN_A_VALUE } from "./header-syntax.ts";
import type { OutboundRequest } from "./outbound-request.ts";
import { SendError } from "./send-error.ts";

/** We ask for no compression: it costs us work and opens the door to bombs. */
const FIXED = "connection: keep-alive\r\naccept-encoding: identity\r\n";

/** Which the writer sets itself: a second one would say where another message begins. */
const FRAMING = /^(accept-encoding|connection|content-length|host|transfer-encoding)$/i;

/** A request as it goes over the wire; throws where a header would break out of its line. */
export function writeRequest(
  { host, path }: Target,
  { method, headers, body: given }: OutboundRequest,
): Message {
  const body = typeof given === "string" ? Buffer.from(given) : (given ?? null);
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n${FIXED}`;
  for (const name in headers) {
    const value = headers[name]!;
    if (!HEADER_NAME.test(name) || FRAMING.test(name) || NOT_IN_A_VALUE.test(value)) {
      throw new SendError("protocol", `The header ${JSON.stringify(name)} cannot be sent.`);
    }
    head += `${name}: ${value}\r\n`;
  }
  if (body || method !== "GET") head += `content-length: ${body?.length ?? 0}\r\n`;
  return { head: `${head}\r\n`, body };
}
