import type { IncomingMessage, RequestListener } from "node:http";
import { isIP } from "node:net";
import { isInList, networkList } from "../network-list.ts";

const HEADER = "x-forwarded-for";
const MAPPED = /^::ffff:/i;

const WITH_PORT = /^(?:\[([0-9a-f:.]{2,45})\]|(\d{1,3}(?:\.\d{1,3}){3}))(?::\d{1,5})?$/i;

/**
 * Whose request it is: the address of the connection or, behind trusted proxies, the last one in
 * `X-Forwarded-For` that is not a proxy's. The framework knows it as `request.ip`; this is for what
 * is decided before the framework sees the request.
 */
export function createForwardedAddress(
  trusted_proxies: readonly string[],
): (request: IncomingMessage) => string {
  const connection = ({ socket }: IncomingMessage) => socket.remoteAddress ?? "";
  if (trusted_proxies.length === 0) return connection;
  const proxies = networkList(trusted_proxies);
  return (request) => {
    let address = connection(request).replace(MAPPED, "");
    const named = String(request.headers[HEADER] ?? "").split(",");
    while (isIP(address) !== 0 && isInList(proxies, address) && named.length > 0) {
      const before = withoutPort(named.pop()!).replace(MAPPED, "");
      if (isIP(before) === 0) break;
      address = before;
    }
    return address;
  };
}

/** Some proxies add the client's port, another one for each connection; the framework keeps it. */
export function readsForwarded(handle: RequestListener): RequestListener {
  return (request, answer) => {
    const named = request.headers[HEADER];
    if (named !== undefined) {
      request.headers[HEADER] = String(named).split(",").map(withoutPort).join(", ");
    }
    handle(request, answer);
  };
}

function withoutPort(named: string): string {
  const text = named.trim();
  const [, v6, v4] = WITH_PORT.exec(text) ?? [];
  return v6 ?? v4 ?? text;
}
