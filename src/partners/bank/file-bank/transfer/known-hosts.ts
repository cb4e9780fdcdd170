import { createHmac, timingSafeEqual } from "node:crypto";

/** A key of a server, as a line of a known_hosts file has it. */
type HostKey = { type: string; key: Buffer };

const PORT = 22;

/**
 * The keys that a known_hosts file has for a server, by its name or by its hashed name. Lines with
 * a marker (`@revoked`, `@cert-authority`) are no keys of a server.
 */
export function findHostKeys(text: string, host: string, port: number): HostKey[] {
  const name = port === PORT ? host : `[${host}]:${port}`;
  return text.split(/\r?\n/).flatMap((line) => {
    const [names, type, key] = line.trim().split(/\s+/);
    if (!names || !type || !key || names.startsWith("#") || names.startsWith("@")) return [];
    const is_named = names.split(",").some((one) => isName(one, name));
    return is_named ? [{ type, key: Buffer.from(key, "base64") }] : [];
  });
}

export function isKnownKey(known: readonly HostKey[], key: Buffer): boolean {
  return known.some((one) => one.key.length === key.length && timingSafeEqual(one.key, key));
}

/** Patterns with `*` and `!` are not supported: a server that moves money is named. */
function isName(entry: string, name: string): boolean {
  const hashed = /^\|1\|([^|]+)\|([^|]+)$/.exec(entry);
  if (!hashed) return entry.toLowerCase() === name.toLowerCase();
  const salt = Buffer.from(hashed[1]!, "base64");
  return createHmac("sha1", salt).update(name).digest("base64") === hashed[2];
}
