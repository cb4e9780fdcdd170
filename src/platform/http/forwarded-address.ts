import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isInList, networkList } from "../network-list.ts";

const MAPPED = /^::ffff:/i;

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
    const named = String(request.headers["x-forwarded-for"] ?? "").split(",");
    while (isIP(address) !== 0 && isInList(proxies, address) && named.length > 0) {
      const before = named.pop()!.trim().replace(MAPPED, "");
      if (isIP(before) === 0) break;
      address = before;
    }
    return address;
  };
}
