/** Decoders with a large window that work at once, in this process; those of one account. */
const AT_ONCE_MAX = 8;
const PER_ACCOUNT_MAX = 4;

type Waiting = { account_id: string; begin: () => void };

const running = new Map<string, number>();
const waiting = new Set<Waiting>();
let count = 0;

/** False if there is no place and the caller does not wait for one. */
export async function enterWide(account_id: string, may_wait: boolean): Promise<boolean> {
  if (hasPlace(account_id)) take(account_id);
  else if (!may_wait) return false;
  else await new Promise<void>((begin) => waiting.add({ account_id, begin }));
  return true;
}

export function leaveWide(account_id: string): void {
  const left = running.get(account_id)! - 1;
  if (left > 0) running.set(account_id, left);
  else running.delete(account_id);
  count -= 1;
  for (const one of waiting) {
    // A server can keep a decoder busy: the account of this one may have used its share.
    if (!hasPlace(one.account_id)) continue;
    waiting.delete(one);
    take(one.account_id);
    one.begin();
    return;
  }
}

function hasPlace(account_id: string): boolean {
  return count < AT_ONCE_MAX && (running.get(account_id) ?? 0) < PER_ACCOUNT_MAX;
}

function take(account_id: string): void {
  running.set(account_id, (running.get(account_id) ?? 0) + 1);
  count += 1;
}
