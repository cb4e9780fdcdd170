import { keccak_256 } from "@noble/hashes/sha3.js";
import type { Database } from "../../../../platform/db/database.ts";
import { MINUTE_MS } from "../../../../platform/durations.ts";
import { usedNonceKey } from "../../send-keys.ts";
import { type Signer, SigningRefused } from "../signer/port.ts";
import { Misconfigured } from "../verify-nodes.ts";
import { deleteAttempt, updateSigned } from "./attempt-store.ts";
import { type Attempt, type OpenSend, type Sender, whyUnreadable } from "./model.ts";
import { insertSend } from "./send-store.ts";

const ASKED_AGAIN_AFTER_MS = 5 * MINUTE_MS;

/**
 * Has a planned attempt signed and stores its bytes. What is signed was stored before: whoever asks
 * again, after a crash or at the same time, asks for the same transaction. Returns the reason of a
 * refusal; then nothing was signed, and the nonce of a first attempt is free again.
 */
export async function signAttempt(
  database: Database,
  { chain }: Sender,
  signer: Signer,
  send: OpenSend,
  attempt: Attempt,
  now: Date,
): Promise<string | null> {
  const { address_index, sender: address } = send;
  const action = attempt.is_cancel ? ({ kind: "cancel" } as const) : send.action;
  if (action.kind === "unreadable") return whyUnreadable(send);
  // Before the signer writes it down: the nonce belongs to another key.
  if (address_index === null && address !== signer.treasury) {
    throw new Misconfigured(`${send.key} is a payment of ${address}, an earlier treasury`);
  }
  try {
    const signed = await signer.sign({
      reference: send.key,
      chain_id: chain.chain_id,
      key:
        address_index === null ? { kind: "treasury" } : { kind: "deposit", address_index, address },
      nonce: send.nonce!,
      action,
      gas: send.gas!,
      max_fee: attempt.max_fee,
      priority_fee: attempt.priority_fee,
    });
    if (signed.from !== address || hashOf(signed.raw) !== signed.tx_id) {
      throw new Misconfigured(`the signer answered with a transaction that is not of ${address}`);
    }
    await updateSigned(database, { ...attempt, nonce: send.nonce! }, signed, now);
    return null;
  } catch (error) {
    if (!(error instanceof SigningRefused)) throw error;
    const problem = `the signer refuses ${send.key}: ${error.message}`;
    const retry_at = new Date(now.getTime() + ASKED_AGAIN_AFTER_MS);
    const is_deleted = await deleteAttempt(database, send, attempt, { retry_at, problem }, now);
    const is_first = attempt.attempt === 1;
    if (is_deleted && is_first && error.is_nonce_used && !attempt.is_cancel) {
      await useUp(database, send, now);
    }
    return problem;
  }
}

/**
 * The signer has signed something for this nonce that the database has lost. It signs nothing else
 * for it but a transfer of nothing: that is sent, and the queue goes on with the next nonce.
 */
async function useUp(database: Database, send: OpenSend, now: Date): Promise<void> {
  const { chain, sender, address_index, nonce, gas } = send;
  const key = usedNonceKey({ chain, sender, nonce: nonce! });
  const action = { kind: "cancel" } as const;
  const used = { key, chain, sender, address_index, action, gas, asked_at: null };
  await insertSend(database, used, now);
}

function hashOf(raw: string): string {
  return `0x${Buffer.from(keccak_256(Buffer.from(raw.slice(2), "hex"))).toString("hex")}`;
}
