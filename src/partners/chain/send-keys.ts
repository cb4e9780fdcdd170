/*
 * The keys of all that is sent on a chain, each derived from the record that wants it: whoever asks
 * twice, or after a crash, asks for the same. `sliproad verify` and the comparison with the ledger
 * take them apart again in SQL, so a new form also needs a line there.
 */

type RecordKey = { account_id: string; id: string };

export function refundKey({ account_id, id }: RecordKey): string {
  return `refund:${account_id}:${id}`;
}

export function deliveryKey({ account_id, id }: RecordKey): string {
  return `onramp:${account_id}:${id}`;
}

/** Tokens that go back to who sent them, or a bank's credit; one for each attempt. */
export function returnKey({ id, returns }: { id: string; returns: number }): string {
  return `deposit:${id}:${returns}`;
}

type SweepKey = { number: bigint };

/** The deposit address sends its tokens to the treasury. */
export function sweepTransferKey({ number }: SweepKey): string {
  return `sweep:${number}:transfer`;
}

/** The treasury takes the tokens with a signature of the deposit address. */
export function sweepAuthorizationKey({ number }: SweepKey): string {
  return `sweep:${number}:authorization`;
}

/** The treasury sends native coin to the deposit address. */
export function topUpKey({ number }: SweepKey, top_up: number): string {
  return `sweep:${number}:top_up:${top_up}`;
}

/** A transfer of nothing that uses up a nonce. */
export function usedNonceKey(of: { chain: string; sender: string; nonce: number }): string {
  return `nonce:${of.chain}:${of.sender}:${of.nonce}`;
}

/** Whose a send is. */
type SendOwner = ({ kind: "refund" | "onramp" } & RecordKey) | { kind: "deposit"; id: string };

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The record that a key names; null where it names none, as the keys of sweeps. */
export function ownerOf(key: string): SendOwner | null {
  const [kind, first, second] = key.split(":") as [string, string?, string?];
  if (!first || !second) return null;
  if (!UUID.test(first)) return null;
  if (kind === "refund" || kind === "onramp") {
    return UUID.test(second) ? { kind, account_id: first, id: second } : null;
  }
  return kind === "deposit" ? { kind, id: first } : null;
}
