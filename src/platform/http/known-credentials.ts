import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";

const CREDENTIALS_MAX = 10_000;

/**
 * Which accounts the credentials of recent requests belong to. Before authentication that tells
 * customers apart from anybody who makes up a key. It only decides who is served while more arrives
 * than can be processed: each request is authenticated all the same. Kept as hashes.
 */
export class KnownCredentials {
  private readonly accounts = new Map<string, string>();

  accountOf(request: IncomingMessage): string | undefined {
    const hash = hashOf(request);
    return hash === undefined ? undefined : this.accounts.get(hash);
  }

  /** What authentication said: the account, or nobody. */
  note(request: IncomingMessage, account_id: string | undefined): void {
    const hash = hashOf(request);
    if (hash === undefined) return;
    this.accounts.delete(hash);
    if (account_id === undefined) return;
    this.accounts.set(hash, account_id);
    if (this.accounts.size <= CREDENTIALS_MAX) return;
    // Maps are in the order of insertion: the one not seen for longest.
    for (const oldest of this.accounts.keys()) {
      this.accounts.delete(oldest);
      return;
    }
  }
}

function hashOf({ headers }: IncomingMessage): string | undefined {
  const credential = headers.authorization ?? headers.cookie;
  if (credential === undefined) return undefined;
  return createHash("sha256").update(credential).digest("base64");
}
