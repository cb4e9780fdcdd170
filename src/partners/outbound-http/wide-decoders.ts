import { Shares } from "../../platform/shares.ts";

/** Decoders with a large window that work at once, in this process; those of one account. */
const AT_ONCE_MAX = 16;
const PER_ACCOUNT_MAX = 4;

type Waiting = { account_id: string; begin: () => void };

const shares = new Shares(AT_ONCE_MAX, PER_ACCOUNT_MAX);
const waiting = new Set<Waiting>();

/** False if there is no place and the caller does not wait for one. */
export async function enterWide(account_id: string, may_wait: boolean): Promise<boolean> {
  if (shares.take(account_id)) return true;
  if (may_wait) await new Promise<void>((begin) => waiting.add({ account_id, begin }));
  return may_wait;
}

export function leaveWide(account_id: string): void {
  shares.leave(account_id);
  for (const one of waiting) {
    // A server can keep a decoder busy: the account of this one may have used its share.
    if (!shares.take(one.account_id)) continue;
    waiting.delete(one);
    one.begin();
    return;
  }
}
