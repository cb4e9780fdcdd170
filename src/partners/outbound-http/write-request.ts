import type { Message, Target } from "./connection.ts";
import type { OutboundRequest } from "./outbound-request.ts";
import { SendError } from "./send-error.ts";

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const NOT_IN_A_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** A request as it goes over the wire; throws where a header would break out of its line. */
export function messageOf(
  { host, path }: Target,
  { method, headers, body: given }: OutboundRequest,
): Message {
  const body = typeof given === "string" ? Buffer.from(given) : (given ?? null);
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\naccept-encoding: identity\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    if (!HEADER_NAME.test(name) || NOT_IN_A_VALUE.test(value)) {
      throw new SendError("protocol", `The header ${JSON.stringify(name)} cannot be sent.`);
    }
    head += `${name}: ${value}\r\n`;
  }
  if (body || method !== "GET") head += `content-length: ${body?.length ?? 0}\r\n`;
  return { head: `${head}\r\n`, body };
}
