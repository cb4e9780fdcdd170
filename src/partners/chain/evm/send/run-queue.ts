import type { Database } from "../../../../platform/db/database.ts";
import { MINUTE_MS } from "../../../../platform/durations.ts";
import type { AskOwner } from "../../port.ts";
import type { Signer } from "../signer/port.ts";
import { askBeforeSigning } from "./ask-owner.ts";
import { insertReplacement, updateToCancel } from "./attempt-store.ts";
import { broadcast, currentAttempt, isAccepted } from "./broadcast.ts";
import { bumpFees } from "./fees.ts";
import { findLostPayment } from "./find-lost-payment.ts";
import { followReceipts, isTaken, toMined } from "./follow-receipts.ts";
import {
  type Attempt,
  type OpenSend,
  type Sender,
  type SenderRow,
  SendingStopped,
} from "./model.ts";
import { planSend } from "./plan-send.ts";
import { compareNonce, readFirstNonce, readView, type View } from "./read-view.ts";
import {
  findInFlight,
  findWaitingProblem,
  listMined,
  listQueued,
  listUnmined,
  updateFinal,
} from "./send-store.ts";
import { findSender, type SenderOutcome, updateFirstNonce } from "./sender-store.ts";
import { signAttempt } from "./sign-attempt.ts";

type RunDeps = { database: Database; now: Date; askOwner: AskOwner };

/** Mined sends of one run; the others are looked at once these are final. */
const FOLLOWED_MAX = 500;
const QUEUED_TRIED_MAX = 20;
/** So many blocks must pass without it: on a chain that stands still a higher fee is useless. */
const BUMPED_AFTER_BLOCKS = 3;
const TRIED_AGAIN_AFTER_MS = 5_000;
/** A node that is busy accepts a transaction a little later: the operator is not told of that. */
const TOLD_AFTER_MS = MINUTE_MS;
/** Callers ask every few seconds; one that stopped asking may not want it any more. */
const ASKED_WITHIN_MS = 2 * MINUTE_MS;

const HELD = "payouts are on hold; see sliproad payouts status";

/**
 * One run of an address's queue, in this order: receipts of what was sent; is the key used by
 * somebody else; sign what is planned; send it, lowest nonce first; raise fees; take new sends.
 * Whatever it throws, a later run continues: each step is stored before the next one.
 */
export async function runQueue(
  deps: RunDeps,
  sender: Sender,
  row: SenderRow,
  getSigner: () => Promise<Signer>,
): Promise<SenderOutcome> {
  const { database, now } = deps;
  const view = await readView(sender, row.address);
  const seen = {
    mined_nonce: view.mined_nonce,
    balance: view.balance,
    base_fee: view.market.base_fee,
  };
  const mined = await listMined(database, row, FOLLOWED_MAX);
  const in_flight = [...mined, ...(await listUnmined(database, row))];
  const { unmined, problems } = await followReceipts(database, sender, in_flight, view, now);
  if (row.state === "stopped") return { state: "stopped", problem: row.problem, seen };
  if (row.next_nonce === null) {
    const nonce = await readFirstNonce(sender, row.address);
    await updateFirstNonce(database, row, nonce);
  }
  compareNonce(sender, (await findSender(database, row.chain, row.address))!, view);
  const left = await endPassed(deps, sender, unmined, view);
  const run = { ...deps, sender, row, view, getSigner, problems };
  if (await sender.leaving.findHold()) {
    // Cancelling keeps money here.
    await pushUnmined(
      run,
      left.filter((send) => send.is_cancelled),
    );
    return { state: "waiting", problem: HELD, seen };
  }
  if (left.length > 0) await pushUnmined(run, left);
  await takeQueued(run);
  // Also where there is nothing to sign: an operator learns now what is wrong with it.
  await getSigner();
  const waiting = await findWaitingProblem(database, row, tryable(now));
  const problem = [...new Set([...problems, ...waiting])].join("; ") || null;
  return { state: problem ? "waiting" : "sending", problem, seen };
}

type Run = RunDeps & {
  sender: Sender;
  row: SenderRow;
  view: View;
  getSigner(): Promise<Signer>;
  /** Why something has to wait. */
  problems: string[];
};

/**
 * Looks for those whose nonce is used in a final block by none of their transactions. One that was
 * paid by a replacement that the database has lost ends; any other means that the key is stolen.
 * Returns the rest.
 */
async function endPassed(
  { database, now }: RunDeps,
  sender: Sender,
  unmined: readonly OpenSend[],
  view: View,
): Promise<OpenSend[]> {
  const left: OpenSend[] = [];
  for (const send of unmined) {
    // What an unreadable one should have paid cannot be looked for.
    const is_passed = send.nonce! < view.mined_nonce && send.action.kind !== "unreadable";
    if (!is_passed || !(await isTaken(sender.rpcs, send, view.final_block))) {
      left.push(send);
      continue;
    }
    const paid = await findLostPayment(sender, send, view.final_block);
    if (!paid) {
      throw new SendingStopped(
        `nonce ${send.nonce} of ${send.sender} on ${sender.chain.name} was used by a transaction ` +
          `that is not known here, not by ${send.key}: somebody else has the key. See ` +
          "docs/guides/chains.md",
      );
    }
    await updateFinal(database, send.key, toMined(paid), { state: "final" }, now);
  }
  return left;
}

/** Signs, sends and replaces what has a nonce, lowest first: a higher one waits for it. */
async function pushUnmined(run: Run, unmined: readonly OpenSend[]): Promise<void> {
  for (const send of unmined) {
    const signed = await signLast(run, send);
    if (!signed) continue;
    await broadcastOne(run, signed);
    const replaced = await planReplacement(run, signed);
    const resigned = replaced && (await signLast(run, replaced));
    if (resigned) await broadcastOne(run, resigned);
  }
}

/** The send with its last attempt signed; null where its owner or the signer refused the first. */
async function signLast(run: Run, send: OpenSend): Promise<OpenSend | null> {
  const { database, now, sender } = run;
  const last = send.attempts.at(-1);
  if (!last || last.raw !== null) return send;
  const is_cancel = last.is_cancel || send.is_cancelled;
  if (is_cancel && !last.is_cancel) await updateToCancel(database, last);
  const attempt = { ...last, is_cancel };
  // The signer signs nothing but the first one's action for the nonce.
  if (attempt.attempt === 1 && !is_cancel) {
    const { answer, problem } = await askBeforeSigning(run, send, attempt);
    if (problem !== null) run.problems.push(problem);
    if (answer !== "wanted") return null;
  }
  if (!is_cancel && !(await sender.leaving.mayLeave())) {
    run.problems.push(HELD);
    return null;
  }
  const refusal = await signAttempt(database, sender, await run.getSigner(), send, attempt, now);
  if (refusal !== null) run.problems.push(refusal);
  return findInFlight(database, send.key);
}

async function broadcastOne(run: Run, send: OpenSend): Promise<void> {
  const { database, sender, view, now, problems } = run;
  // What was cancelled is replaced; until then no node gets it from us.
  if (send.is_cancelled && !currentAttempt(send)?.is_cancel) return;
  const answer = await broadcast(database, sender, send, view.latest_block, now);
  const attempt = currentAttempt(send);
  const said = answer ?? attempt?.answer;
  if (said === "no_funds") problems.push(tooLittleGas(run));
  else if (attempt && said && said !== "accepted" && isOld(attempt, now)) {
    problems.push(`no node accepts the transaction of ${send.key} (${said})`);
  }
}

function isOld({ planned_at }: Attempt, now: Date): boolean {
  return now.getTime() - planned_at.getTime() >= TOLD_AFTER_MS;
}

function tooLittleGas({ row, view }: Run): string {
  return `${row.address} has too little native coin for gas (${view.balance} wei)`;
}

/** Plans a transaction with higher fees, or one that cancels, where it is time. */
async function planReplacement(run: Run, send: OpenSend): Promise<OpenSend | null> {
  const { database, now, sender, view, problems } = run;
  const current = await findInFlight(database, send.key);
  const attempt = current && currentAttempt(current);
  if (!attempt || !current) return null;
  const is_cancel = current.is_cancelled;
  const is_new_cancel = is_cancel && !attempt.is_cancel;
  if (!is_new_cancel && !isStuck(run, current, attempt)) return null;
  if (!is_cancel && current.action.kind === "unreadable") return null;
  const { max_fee, priority_fee } = attempt;
  // At the limit of the file a cancel has the same fees: perhaps no node has the payment.
  const same_fees = is_new_cancel ? { max_fee, priority_fee } : null;
  const fees = bumpFees(attempt, view.market, sender.settings) ?? same_fees;
  if (!fees) {
    problems.push(
      `${send.key} with nonce ${send.nonce} is not mined, and max_fee_gwei does not allow a ` +
        "higher fee",
    );
    return null;
  }
  const next = { key: send.key, attempt: attempt.attempt + 1, is_cancel, ...fees };
  await insertReplacement(database, next, now);
  return findInFlight(database, send.key);
}

function isStuck({ now, sender, view }: Run, send: OpenSend, attempt: Attempt): boolean {
  if (send.retry_at && send.retry_at > now) return false;
  const waits_ms = now.getTime() - (attempt.accepted_at ?? attempt.planned_at).getTime();
  if (!isAccepted(attempt)) {
    return attempt.answer === "underpriced" && waits_ms >= TRIED_AGAIN_AFTER_MS;
  }
  const blocks = view.latest_block - (attempt.accepted_block ?? view.latest_block);
  const is_next = send.nonce === view.mined_nonce;
  const is_late = waits_ms >= sender.settings.bump_after_seconds * 1000;
  return is_next && is_late && blocks >= BUMPED_AFTER_BLOCKS;
}

function tryable(now: Date): { now: Date; asked_since: Date } {
  return { now, asked_since: new Date(now.getTime() - ASKED_WITHIN_MS) };
}

/** Gives nonces to queued sends, one after the other, as long as nothing is in the way. */
async function takeQueued(run: Run): Promise<void> {
  const { database, now, row, sender } = run;
  const queued = await listQueued(database, row, tryable(now), QUEUED_TRIED_MAX);
  for (const send of queued) {
    const unmined = await listUnmined(database, row);
    if (unmined.length >= sender.settings.in_flight_max) return;
    // One that is not signed, or that no node has, would keep those after it waiting.
    if (unmined.some((one) => one.state !== "broadcast")) return;
    const problem = await planSend(run, send, unmined);
    if (problem) run.problems.push(problem);
    const planned = await findInFlight(database, send.key);
    const signed = planned && (await signLast(run, planned));
    if (signed) await broadcastOne(run, signed);
  }
}
