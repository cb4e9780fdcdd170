import { BlockList, isIP } from "node:net";

/** Decides which IP addresses the program may connect to for URLs that callers entered. */
export type AddressPolicy = {
  /** Why this IP address is refused, as the end of a sentence; null if it is allowed. */
  refuse(hostname: string, address: string, port: number): string | null;
  /** Whether the operator listed this host by name. */
  names(hostname: string): boolean;
  /** The same, as far as it is known without resolving the name. */
  refuseName(hostname: string, port: number): string | null;
};

export type AddressRules = {
  /** Entries of SLIPROAD_OUTBOUND_ALLOW, see `readAllowEntry`. */
  allow_list: readonly string[];
  /** Loopback, on any port: for the sandbox while the service itself listens on loopback. */
  allow_loopback: boolean;
};

const PORTS = [80, 443];

// IANA's special-purpose registries, and the metadata addresses of clouds, which reveal secrets.
const REFUSED_IPV4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // shared by carriers; also Alibaba's metadata
  ["169.254.0.0", 16], // link-local; also most clouds' metadata
  ["168.63.129.16", 32], // Azure's host, a public address answered internally
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16],
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, and broadcast
] as const;
// In IPv6 only global unicast is public. Everything outside it (::, mapped, compatible, NAT64,
// unique-local, link-local, site-local, multicast) is refused.
const PUBLIC_IPV6 = ["2000::", 3] as const;
const REFUSED_IPV6 = [
  ["2001::", 23], // protocol assignments: Teredo, benchmarks, ORCHID
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4 contains an IPv4 address
  ["3fff::", 20], // documentation
] as const;
const LOOPBACK = [
  ["127.0.0.0", 8],
  ["::1", 128],
] as const;

/** The host names of clouds' metadata services. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  "instance-data",
  "instance-data.ec2.internal",
  "metadata",
  "metadata.azure.internal",
  "metadata.goog",
  "metadata.google.internal",
]);

const refused = blockListOf([...REFUSED_IPV4, ...REFUSED_IPV6]);
const public_ipv6 = blockListOf([PUBLIC_IPV6]);
const loopback = blockListOf(LOOPBACK);

export function createAddressPolicy(rules: AddressRules): AddressPolicy {
  const entries = rules.allow_list.map(readAllowEntry);
  const listed_ports = entries.filter((entry) => entry.kind === "port").map(({ port }) => port);
  const ports: ReadonlySet<number> = new Set([...PORTS, ...listed_ports]);
  const refusePort = (port: number) =>
    ports.has(port) ? null : `has port ${port}; only ${inWords([...ports])} are served`;
  const isAllowed = (hostname: string, address: string, port: number) =>
    entries.some((entry) => {
      if (entry.kind === "port" || (entry.port !== null && entry.port !== port)) return false;
      return entry.kind === "host" ? entry.hostname === hostname : contains(entry.network, address);
    });
  const isListed = (hostname: string, port: number) =>
    entries.some((entry) => {
      if (entry.kind === "port" || (entry.port !== null && entry.port !== port)) return false;
      // A name may resolve to an address in a listed network.
      return entry.kind === "network" || entry.hostname === hostname;
    });
  return {
    names: (hostname) =>
      entries.some((entry) => entry.kind === "host" && entry.hostname === hostname),
    refuseName: (hostname, port) => {
      if (isListed(hostname, port)) return null;
      if (METADATA_NAMES.has(hostname)) return "is not a public address";
      if (isLocalName(hostname)) return rules.allow_loopback ? null : "is not a public address";
      return refusePort(port);
    },
    refuse: (hostname, address, port) => {
      // A zone id names an interface of this machine: never a public address.
      if (isIP(address) === 0 || address.includes("%")) return "is not an address";
      if (isAllowed(hostname, address, port)) return null;
      if (contains(loopback, address))
        return rules.allow_loopback ? null : "is not a public address";
      if (!isPublic(address)) return "is not a public address";
      return refusePort(port);
    },
  };
}

function inWords(ports: readonly number[]): string {
  return `${ports.slice(0, -1).join(", ")} and ${ports.at(-1)}`;
}

/** Whether a service that listens on this host is reachable from this machine only. */
export function isLoopbackHost(host: string): boolean {
  return isIP(host) === 0 ? isLocalName(host.toLowerCase()) : contains(loopback, host);
}

/** Whether this is a loopback address. */
export function isLoopbackAddress(address: string): boolean {
  return contains(loopback, address);
}

/** The names that always mean this machine, whatever a resolver answers (RFC 6761). */
export function isLocalName(hostname: string): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost");
}

type AllowEntry =
  | { kind: "host"; hostname: string; port: number | null }
  | { kind: "network"; network: BlockList; port: number | null }
  | { kind: "port"; port: number };

/**
 * One entry of the operator's list: a host, an address or a network, each with an optional port
 * (`hooks.internal`, `10.1.2.3:8080`, `10.0.0.0/8`, `[fd00::/8]:8443`), or `*:8443` for a port of
 * every public address. Without a port it allows every port. Throws with the end of a sentence.
 */
export function readAllowEntry(text: string): AllowEntry {
  const { place, port } = splitPort(text);
  if (place === "*" && port !== null) return { kind: "port", port };
  const [address = "", prefix, ...rest] = place.split("/");
  const bits = isIP(address) === 6 ? 128 : 32;
  if (isIP(address) !== 0 && !address.includes("%") && rest.length === 0) {
    const length = prefix === undefined ? bits : Number(prefix);
    if (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || length > bits)) throw badEntry(text);
    return { kind: "network", network: blockListOf([[address, length]]), port };
  }
  const url = /^[\p{L}\p{N}_.-]+$/u.test(place) ? URL.parse(`http://${place}`) : null;
  if (!url || isIP(url.hostname) !== 0) throw badEntry(text);
  return { kind: "host", hostname: withoutDot(url.hostname), port };
}

/** `hooks.example.` is the same host as `hooks.example`. */
export function withoutDot(hostname: string): string {
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}

function splitPort(text: string): { place: string; port: number | null } {
  const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(text);
  const plain = isIP(text.split("/")[0]!) === 6 ? null : /^([^:]+)(?::(\d{1,5}))?$/.exec(text);
  const [, place = text, digits] = bracketed ?? plain ?? [];
  const port = digits === undefined ? null : Number(digits);
  if (port !== null && (port < 1 || port > 65_535)) throw badEntry(text);
  return { place, port };
}

function badEntry(text: string): Error {
  return new Error(`has an entry that is not a host, address, network or *:port: "${text}"`);
}

function isPublic(address: string): boolean {
  if (isIP(address) === 6 && !contains(public_ipv6, address)) return false;
  return !contains(refused, address);
}

function contains(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

function blockListOf(networks: readonly (readonly [address: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of networks) {
    list.addSubnet(address, prefix, isIP(address) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}
