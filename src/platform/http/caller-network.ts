import { isIPv6 } from "node:net";

const GROUPS = 8;
const NETWORK_GROUPS = 4;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * What limits count a caller by. Of IPv6 that is the /64: whoever has one address there has all of
 * them, and would else have a new limit with each.
 */
export function callerNetwork(address: string): string {
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped) return mapped;
  if (!isIPv6(address)) return address;
  const [before = "", after] = address.toLowerCase().split("::");
  const first = before === "" ? [] : before.split(":");
  const last = after ? after.split(":") : [];
  // An IPv4 address at the end stands for two groups.
  const missing = GROUPS - first.length - last.length - (address.includes(".") ? 1 : 0);
  const zeros = after === undefined ? [] : Array.from({ length: missing }, () => "0");
  const network = [...first, ...zeros, ...last].slice(0, NETWORK_GROUPS);
  return `${network.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
