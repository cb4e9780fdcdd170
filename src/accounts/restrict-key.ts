import { isIP } from "node:net";
import { Refusal } from "../platform/errors.ts";
import { isInList, networkList } from "../platform/network-list.ts";
import { type Parsed, quoted } from "../platform/problems.ts";
import { isKeyScope, KEY_SCOPE_NAMES, type KeyScope, scopeOf } from "./key-scopes.ts";

/** What a key is restricted to; null means not restricted. */
export type KeyRestrictions = {
  scopes: readonly KeyScope[] | null;
  /** IP addresses and networks such as `203.0.113.0/24` that it may be used from. */
  networks: readonly string[] | null;
  expires_at: Date | null;
};

export const UNRESTRICTED: KeyRestrictions = { scopes: null, networks: null, expires_at: null };

/** Decides whether a key may send a request; compiled once for the requests of a second. */
type KeyCheck = (request: { operation: string; ip: string | null }) => Refusal | null;

export function compileKeyCheck({ scopes, networks }: KeyRestrictions): KeyCheck {
  const permitted = networks && networkList(networks);
  return ({ operation, ip }) => {
    if (permitted && ip !== null && !isInList(permitted, ip)) {
      return new Refusal("unauthorized", `This API key may not be used from ${quoted(ip)}.`);
    }
    const needed = scopeOf(operation);
    if (scopes === null || (needed !== undefined && scopes.includes(needed))) return null;
    return new Refusal(
      "insufficient_scope",
      `This API key does not have the scope ${needed}; use one that has it.`,
    );
  };
}

export function readKeyScopes(texts: readonly string[]): Parsed<KeyScope[]> {
  const unknown = texts.find((text) => !isKeyScope(text));
  if (unknown === undefined) return { value: [...new Set(texts.filter(isKeyScope))] };
  return { reason: `There is no scope ${unknown}; use ${KEY_SCOPE_NAMES.join(", ")}.` };
}

export function readNetworks(texts: readonly string[]): Parsed<string[]> {
  const wrong = texts.find((text) => !isNetwork(text));
  if (wrong === undefined) return { value: [...new Set(texts)] };
  return { reason: `${wrong} is no IP address and no network such as 203.0.113.0/24.` };
}

function isNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  if (prefix === undefined) return true;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 6 ? 128 : 32);
}
