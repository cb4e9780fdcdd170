import { lookup, Resolver } from "node:dns/promises";
import { isLocalName } from "./address-policy.ts";

/** The IP addresses of a host; throws if it has none. */
export type ResolveHost = (hostname: string) => Promise<string[]>;

const TIMEOUT_MS = 1500;
const TRIES = 2;
const ADDRESSES_MAX = 8;

/**
 * Queries the name servers directly. The system's resolver (`dns.lookup`) would occupy one of the
 * four threads that file access also needs, until a dead name server times out: a few dead webhook
 * hosts would block all files and deliveries. Hosts that the operator lists by name do use it, so
 * that /etc/hosts and similar sources work for them.
 */
export function createResolveHost(is_listed: (hostname: string) => boolean): ResolveHost {
  return async (hostname) => {
    if (isLocalName(hostname)) return ["127.0.0.1", "::1"];
    const addresses = is_listed(hostname)
      ? (await lookup(hostname, { all: true })).map((entry) => entry.address)
      : await askNameServers(hostname);
    return addresses.slice(0, ADDRESSES_MAX);
  };
}

async function askNameServers(hostname: string): Promise<string[]> {
  // A new resolver each time: it rereads the name servers, which may have changed.
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  const [v4, v6] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ]);
  if (v4.status === "rejected" && v6.status === "rejected") throw v4.reason;
  return [v4, v6].flatMap((result) => (result.status === "fulfilled" ? result.value : []));
}
