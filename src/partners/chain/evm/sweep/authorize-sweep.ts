import { randomBytes } from "node:crypto";
import type { Database } from "../../../../platform/db/database.ts";
import { DAY_MS, HOUR_MS } from "../../../../platform/durations.ts";
import { sweepAuthorizationKey } from "../../send-keys.ts";
import { Disagreement } from "../check-transfers.ts";
import { RpcRefused } from "../json-rpc.ts";
import { findSendByKey, insertSend, updateRefused } from "../send/send-store.ts";
import { estimateGas } from "../send/simulate.ts";
import type { SignedAction } from "../signer/port.ts";
import { type Sweep, type Sweeper, SweepWaits, waitWith } from "./model.ts";
import {
  existsAuthorizationRefused,
  lockOpenSweep,
  updateEnded,
  updateUnauthorized,
} from "./sweep-store.ts";

export type AdvanceDeps = { database: Database; now: Date; sweeper: Sweeper };

/** An authorization can be used by anybody who sees it, so it does not live long. */
const VALID_MS = DAY_MS;
/** After this, a transaction that used it in its last second is final on every chain. */
const DECIDED_AFTER_MS = HOUR_MS;
/** With less left when its turn comes, it would be mined too late. */
const LEFT_MIN_MS = HOUR_MS;
const REFUSED_REMEMBERED_MS = 30 * DAY_MS;
/** A transfer with authorization checks a signature and stores its number, beside the transfer. */
const AUTHORIZATION_GAS = 80_000n;

/** By authorization where the token's contract has it (EIP-3009), and did not refuse one lately. */
export async function chooseMethod(
  { database, now, sweeper }: AdvanceDeps,
  { chain, address, contract }: Pick<Sweep, "chain" | "address" | "contract">,
): Promise<Pick<Sweep, "method" | "authorization_nonce">> {
  const { rpcs } = sweeper.sender;
  const since = new Date(now.getTime() - REFUSED_REMEMBERED_MS);
  const nonce = `0x${randomBytes(32).toString("hex")}`;
  const by_top_up = { method: "top_up", authorization_nonce: null } as const;
  if (await existsAuthorizationRefused(database, { chain, contract }, since)) return by_top_up;
  try {
    await readDomain(sweeper, contract);
    await Promise.all(rpcs.map((rpc) => rpc.isAuthorizationUsed(contract, address, nonce)));
    return { method: "authorization", authorization_nonce: nonce };
  } catch (error) {
    // Also where a node refuses in its own words, or nodes differ: a top-up serves every token.
    if (error instanceof RpcRefused || error instanceof Disagreement) return by_top_up;
    throw error;
  }
}

/**
 * The treasury takes the tokens with a signature of the deposit address. Where that fails, top-ups
 * follow, but only once the authorization has expired: until then anybody could still use it.
 */
export async function advanceAuthorized(deps: AdvanceDeps, sweep: Sweep): Promise<void> {
  const { database, now, sweeper } = deps;
  const { number, contract, address } = sweep;
  const send = await findSendByKey(database, sweepAuthorizationKey(sweep));
  if (!send) return queueAuthorization(deps, sweep);
  if (send.state === "final") {
    return updateEnded(database, number, { state: "final", problem: null }, now);
  }
  if (send.state === "queued" && now.getTime() >= expiryOf(sweep).getTime() - LEFT_MIN_MS) {
    await updateRefused(database, send.key, "It waited until its authorization expired.", now);
  }
  if (send.state !== "refused") return waitWith(send, now);
  const decided_at = new Date(expiryOf(sweep).getTime() + DECIDED_AFTER_MS);
  if (now < decided_at) {
    throw new SweepWaits(
      `The authorization was not accepted (${send.problem}). The tokens are sent otherwise when ` +
        "it has expired.",
      decided_at,
    );
  }
  const used = await Promise.all(
    sweeper.sender.rpcs.map((rpc) =>
      rpc.isAuthorizationUsed(contract, address, sweep.authorization_nonce!),
    ),
  );
  if (used.every((one) => one)) {
    const problem = "Another transaction used the authorization; the tokens are in the treasury.";
    return updateEnded(database, number, { state: "final", problem }, now);
  }
  if (used.includes(true)) return;
  const was_sent = send.nonce !== null;
  await updateUnauthorized(database, number, { is_authorization_refused: was_sent });
}

async function queueAuthorization(
  { database, now, sweeper }: AdvanceDeps,
  sweep: Sweep,
): Promise<void> {
  const { sender } = sweeper;
  const { address, address_index, contract, amount, chain } = sweep;
  const domain_separator = await readDomain(sweeper, contract);
  // The same transfer without authorization: whether it would succeed, and what it costs.
  const transfer: SignedAction = { kind: "token_transfer", contract, to: sender.treasury, amount };
  const gas = await estimateGas(sender, { sender: address, action: transfer, gas: null });
  const action: SignedAction = {
    ...{ kind: "sweep_with_authorization", contract, address_index, address, amount },
    domain_separator,
    authorization_nonce: sweep.authorization_nonce!,
    valid_before: Math.floor(expiryOf(sweep).getTime() / 1000),
  };
  const of = { key: sweepAuthorizationKey(sweep), chain, sender: sender.treasury, action };
  await database.transaction(async (tx) => {
    if (!(await lockOpenSweep(tx, sweep.number))) return;
    await insertSend(tx, { ...of, gas: gas + AUTHORIZATION_GAS, asked_at: null }, now);
  });
}

function expiryOf({ created_at }: Sweep): Date {
  return new Date(created_at.getTime() + VALID_MS);
}

/** What the signature must contain; all nodes must say the same. */
async function readDomain({ sender }: Sweeper, contract: string): Promise<string> {
  const all = await Promise.all(sender.rpcs.map((rpc) => rpc.domainSeparator(contract)));
  if (new Set(all).size === 1) return all[0]!;
  throw new Disagreement(`nodes of ${sender.chain.name} have different domains of ${contract}`);
}
