import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";

/** The address that a request comes from, behind trusted proxies that of their client. */
export type AddressOf = (request: IncomingMessage) => string;

const GROUPS = 8;
const NETWORK_GROUPS = 4;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The network that limits count a caller by. For IPv6 that is the /64: a caller with one address in
 * it usually has all of them, and would get a new limit with each.
 */
export function callerNetwork(address: string | undefined): string {
  // Of a connection that is gone; nobody reads the answer.
  if (address === undefined) return "";
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped) return mapped;
  if (!isIPv6(address)) return address;
  const [before = "", after] = address.toLowerCase().split("::");
  const first = before === "" ? [] : before.split(":");
  const last = after ? after.split(":") : [];
  // An IPv4 address at the end counts as two groups.
  const missing = GROUPS - first.length - last.length - (address.includes(".") ? 1 : 0);
  const zeros = after === undefined ? [] : Array.from({ length: missing }, () => "0");
  const network = [...first, ...zeros, ...last].slice(0, NETWORK_GROUPS);
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
