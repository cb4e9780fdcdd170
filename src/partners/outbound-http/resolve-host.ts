import { lookup, Resolver } from "node:dns/promises";
import { isLocalName } from "./address-policy.ts";

/** The addresses of a host; throws when it has none. */
export type ResolveHost = (hostname: string) => Promise<string[]>;

const TIMEOUT_MS = 1500;
const TRIES = 2;
const ADDRESSES_MAX = 8;

/**
 * Asks the name servers directly. The system's resolver (`dns.lookup`) would occupy one of four
 * threads that file access needs too, for as long as a dead name server is silent: a few dead
 * webhook hosts would then stop everybody's files and deliveries. Hosts that the operator lists by
 * name do go through it, so that /etc/hosts and the like work for them.
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
  // A resolver of its own each time: it reads the name servers anew, which may have changed.
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  const [v4, v6] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ]);
  if (v4.status === "rejected" && v6.status === "rejected") throw v4.reason;
  return [v4, v6].flatMap((result) => (result.status === "fulfilled" ? result.value : []));
}
