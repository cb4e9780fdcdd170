import { findOperator } from "../../accounts/store.ts";
import type { Core } from "../../app/open-core.ts";
import { resolveWithApproval } from "../../offramps/exceptions/approved-resolutions.ts";
import { answerResolved } from "../../offramps/exceptions/decide-in-steps.ts";
import type { ExceptionStatus } from "../../offramps/exceptions/model.ts";
import { renderExceptions } from "../../offramps/exceptions/render.ts";
import type { ResolveRequest } from "../../offramps/exceptions/resolve-exceptions.ts";
import { listBankExceptions } from "../../offramps/exceptions/store.ts";
import { createOfframpRenderer } from "../../offramps/render.ts";
import { runOnce } from "../../platform/commands/run-once.ts";
import { HOUR_MS } from "../../platform/durations.ts";
import { Refusal } from "../../platform/errors.ts";
import { cutPage, readPage } from "../../platform/http/list.ts";
import { FIRST_ID, newId } from "../../platform/ids.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { approvalRules } from "../../prices/approval-rules.ts";
import { STORED_PRICES } from "../../prices/price-book.ts";
import { findPublicUrl } from "../public-url.ts";

type ShownException = {
  id: string;
  kind: string;
  answer: string;
  amount: number;
  currency: string;
  held_amount: number;
  bank_reference: string;
  status: string;
};
type Outcome = { bank_exception: ShownException } | { proposal: { id: string } };

export async function listExceptions(
  { database }: Core,
  status: ExceptionStatus,
  limit: number,
): Promise<{ bank_exceptions: ShownException[]; has_more: boolean }> {
  const { page } = readPage({ limit });
  const { rows, has_more } = cutPage(await listBankExceptions(database, status, page), page);
  return JSON.parse(renderExceptions(rows, has_more));
}

/** Resolves an exception as the operator; above the approval amount it becomes a proposal. */
export async function resolveOnCommandLine(
  core: Core,
  asked: Omit<ResolveRequest, "problems">,
): Promise<Outcome> {
  const { config, clock, database } = core;
  const [url, operator] = await Promise.all([findPublicUrl(config), findOperator(database)]);
  const deps = {
    ...core,
    renderer: createOfframpRenderer(() => url, clock),
    reroute_ms: config.reroute_hours * HOUR_MS,
    prices: STORED_PRICES,
    approvals: approvalRules({ ...core, public_url: () => url }, STORED_PRICES),
  };
  const use_case = resolveWithApproval(deps);
  const now = clock.now();
  const command = {
    id: newId(now),
    account_id: operator!.id,
    // No key has this id.
    credential_id: FIRST_ID,
    input: { ...asked, problems: [] },
    idempotency: null,
    actor: "command line" as const,
  };
  const verdict = await database.transaction((tx) => runOnce(tx, use_case, command, now));
  if ("refusal" in verdict) throw new StartupError(verdict.refusal.sentence);
  const asked_for = { body: use_case.render(verdict.output), replayed: false };
  const { body } = await answerResolved(deps, asked_for).catch((error) => {
    throw error instanceof Refusal ? new StartupError(error.sentence) : error;
  });
  return JSON.parse(body);
}

export function describeException(exception: ShownException): string {
  const { id, status, answer, amount, currency, held_amount, kind, bank_reference } = exception;
  const held = held_amount > 0 ? `  in suspense: ${held_amount}` : "";
  return `${id}  ${status}  ${answer} ${amount} ${currency}  ${kind}${held}  ${bank_reference}`;
}

export function describeOutcome(outcome: Outcome): string {
  if ("bank_exception" in outcome) {
    const { id, status } = outcome.bank_exception;
    return `The bank exception ${id} is ${status}.`;
  }
  return (
    `The amount is above the approval amount: two members must confirm proposal ` +
    `${outcome.proposal.id} on /dashboard/approvals.`
  );
}
