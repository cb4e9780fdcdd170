import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { SECOND_MS } from "../durations.ts";
import { LruMap } from "../lru-map.ts";
import { readAccount, readDeviceAccount } from "../named-credentials.ts";
import { findCookie } from "../pages/cookies.ts";

const CREDENTIALS_MAX = 10_000;
const CHECK_EVERY_MS = 10 * SECOND_MS;
const BEARER = /^Bearer ([\x21-\x7e]{1,300})$/i;

export type Credential = { kind: "bearer" | "session"; text: string };

/**
 * Which accounts credentials belong to, before authentication. That tells customers apart from
 * anybody who makes up a key, and only decides who is served while more arrives than can be
 * processed: each request is authenticated all the same.
 *
 * Credentials that we issue say it themselves. Noted, as hashes, is where authentication said
 * something else: of keys that the operator chose, of sessions that moved to another account, and
 * of those that have ended, with which nobody may use up what an account may have under way.
 */
export class KnownCredentials {
  private readonly moved = new LruMap<string, string>(CREDENTIALS_MAX);
  /** Those that authentication confirmed: reading their MACs again would take ten times as long. */
  private readonly confirmed = new LruMap<string, string>(CREDENTIALS_MAX);
  private readonly ended = new LruMap<string, true>(CREDENTIALS_MAX);
  private readonly checked_ms = new LruMap<string, number>(CREDENTIALS_MAX);
  private readonly index_key: Buffer;

  constructor(index_key: Buffer) {
    this.index_key = index_key;
  }

  /** The account, or the devices of one; undefined for a stranger's. */
  ownerOf(request: Pick<IncomingMessage, "headers">, public_url: string): string | undefined {
    const text = readCredential(request, public_url)?.text;
    const account_id = text === undefined ? undefined : this.accountOf(text);
    return account_id ?? readDeviceOwner(request, public_url, this.index_key);
  }

  accountOf(text: string): string | undefined {
    const name = nameOf(text);
    if (this.ended.get(name)) return undefined;
    const noted = this.moved.get(name) ?? this.confirmed.get(name);
    return noted ?? readAccount(this.index_key, text);
  }

  /**
   * Whether to look it up although the route needs no authentication: once in a while, so that one
   * that has ended does not go on counting for its account.
   */
  takeCheck(text: string): boolean {
    const name = nameOf(text);
    const last_ms = this.checked_ms.get(name);
    const now_ms = performance.now();
    if (last_ms !== undefined && now_ms - last_ms < CHECK_EVERY_MS) return false;
    this.checked_ms.set(name, now_ms);
    return true;
  }

  /** What authentication said: the account, or nobody. */
  note(text: string, account_id: string | undefined): void {
    const name = nameOf(text);
    const named = readAccount(this.index_key, text);
    this.confirmed.delete(name);
    if (account_id === undefined || account_id === named) this.moved.delete(name);
    else this.moved.set(name, account_id);
    if (account_id !== undefined && account_id === named) this.confirmed.set(name, named);
    // What anybody can make up is not kept.
    if (account_id === undefined && named !== undefined) this.ended.set(name, true);
    else this.ended.delete(name);
  }
}

const of_installations = new WeakMap<Buffer, KnownCredentials>();

/** Those of this process for the installation with this key. */
export function knownCredentials(index_key: Buffer): KnownCredentials {
  const known = of_installations.get(index_key);
  if (known) return known;
  const created = new KnownCredentials(index_key);
  of_installations.set(index_key, created);
  return created;
}

/** The key or token of a request, or else the session of a browser. */
export function readCredential(
  { headers }: Pick<IncomingMessage, "headers">,
  public_url: string,
): Credential | undefined {
  const bearer = BEARER.exec(headers.authorization ?? "")?.[1];
  if (bearer !== undefined) return { kind: "bearer", text: bearer };
  if (headers.cookie === undefined) return undefined;
  const session = findCookie(headers.cookie, public_url, "session");
  return session === undefined ? undefined : { kind: "session", text: session };
}

/**
 * Whose requests those of a browser are in which somebody signed in before. They count apart from
 * the account's: whoever left it keeps the cookie, which nothing ends.
 */
function readDeviceOwner(
  { headers }: Pick<IncomingMessage, "headers">,
  public_url: string,
  index_key: Buffer,
): string | undefined {
  if (headers.cookie === undefined) return undefined;
  const device = findCookie(headers.cookie, public_url, "device");
  const account_id = readDeviceAccount(index_key, device?.split(".")[1] ?? "");
  return account_id && `devices of ${account_id}`;
}

function nameOf(text: string): string {
  return hash("sha256", text, "base64");
}
