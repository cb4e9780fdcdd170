import { createOfframps } from "../../offramps/create-offramps.ts";
import type { OfframpDeps } from "../../offramps/open.ts";
import { createQuotes } from "../../offramps/quotes/create-quotes.ts";
import type { Quote } from "../../offramps/quotes/model.ts";
import { checkNewOfframps } from "../../offramps/routes.ts";
import type { ScreeningPort } from "../../partners/screening/port.ts";
import { createPaymentDetails } from "../../payment-details/create-payment-details.ts";
import type { PaymentDetailFields } from "../../payment-details/model.ts";
import type { CommandRequest } from "../../platform/commands/executor.ts";
import { keyedHash } from "../../platform/encryption/cipher.ts";
import { type Problem, Refusal } from "../../platform/errors.ts";
import type { ScreenUsers } from "../../users/clearance.ts";
import { changeBatches } from "./change-batches.ts";
import { type CheckDeps, type CheckedBatch, checkBatch } from "./check-batch.ts";
import { asDraft, type Batch, isEditable, type Plan } from "./model.ts";

export type BatchDeps = CheckDeps &
  OfframpDeps & { screening: ScreeningPort; screenUsers: ScreenUsers };

/** Wraps an input as a command of the member who asks. */
type AsCommand = <Input>(input: Input) => CommandRequest<Input>;
type Request = {
  batch: Batch;
  /** Its quote expired: it is created anew. */
  is_expired: boolean;
  digest: string;
  command: AsCommand;
};

const PAYEES_AT_ONCE = 100;
/** Few enough that the progress is seen to move. */
const PAYOUTS_AT_ONCE = 100;

/** What the steps do their work with. */
type Steps = ReturnType<typeof openSteps>;

function openSteps(deps: BatchDeps) {
  const { executor, prices, renderer } = deps;
  return {
    deps,
    submitChange: executor.register(changeBatches(deps.keyring)),
    submitDetail: createPaymentDetails(deps, deps.kyc_enforcement),
    submitQuote: executor.register(createQuotes(deps, (quote) => renderer.quote(quote, [], {}))),
    submitOfframps: executor.register(createOfframps({ ...deps, price_versions: prices })),
  };
}

/**
 * Creates the payouts of a batch step by step: its new bank accounts, a quote, then the payouts, in
 * parts. Each call does one step, and a repeated step creates nothing twice: its command has an
 * idempotency key of the batch and the step. So whoever closes the page goes on later.
 */
export function openCreatePayouts(deps: BatchDeps): (request: Request) => Promise<void> {
  const steps = openSteps(deps);
  return async (request) => {
    const { batch } = request;
    const { plan, digest } = batch.content;
    if (batch.status === "draft" || !plan || request.is_expired) return start(steps, request);
    if (digest !== request.digest) throw invalid(CHANGED);
    if (batch.status === "created") return;
    if (plan.payees.some((payee) => payee.payment_detail_id === null)) {
      return createPayees(steps, request, plan);
    }
    if (batch.quote_id === null) return createQuote(steps, request);
    return createPart(steps, request, plan, batch.quote_id);
  };
}

async function start({ deps, submitChange }: Steps, request: Request): Promise<void> {
  const { batch, digest, command } = request;
  const checked = await checkBatch(deps, batch);
  if (checked.digest !== digest) throw invalid(CHANGED);
  if (!checked.is_ready) throw invalid("Correct or exclude the rows with problems first.");
  const plan = planOf(checked);
  const change = (current: Batch, quote: Quote | undefined, now: Date): Batch => {
    if (current.version !== batch.version) throw invalid(CHANGED);
    if (!isEditable(current, quote, now)) throw invalid("Its payouts were created already.");
    const draft = asDraft(current);
    return { ...draft, status: "creating", content: { ...draft.content, plan, digest } };
  };
  const asked = command({ batch_id: batch.id, change, action: "create" as const });
  await submitChange({ ...asked, idempotency: null });
}

/** Notes what a step created; whoever does the same step at the same time notes the same. */
async function note(
  { submitChange }: Steps,
  { batch, command }: Request,
  change: (batch: Batch) => Batch,
): Promise<void> {
  const ifSame = (current: Batch) =>
    current.attempt === batch.attempt && current.status === "creating" ? change(current) : current;
  const asked = command({ batch_id: batch.id, change: ifSame, action: null });
  await submitChange({ ...asked, idempotency: null });
}

async function createPayees(steps: Steps, request: Request, plan: Plan): Promise<void> {
  const { deps, submitDetail } = steps;
  const { account_id, user_id, attempt } = request.batch;
  const waiting = plan.payees.filter((payee) => payee.payment_detail_id === null);
  const created = await Promise.all(
    waiting.slice(0, PAYEES_AT_ONCE).map(async ({ n, fields }) => {
      const input = { user_id, fields, problems: [] };
      const asked = keyed(deps, request, ["payee", String(attempt), String(n)], fields, input);
      const { body } = await submitDetail(asked).catch((error) => refuseRow(error, () => n));
      return [n, JSON.parse(body).payment_detail.id] as const;
    }),
  );
  await deps.screenUsers([{ account_id, user_id }]);
  const ids = new Map<number, string>(created);
  await note(steps, request, (current) => {
    const payees = current.content.plan?.payees ?? [];
    return withPlan(current, {
      payees: payees.map((payee) => ({
        ...payee,
        payment_detail_id: payee.payment_detail_id ?? ids.get(payee.n) ?? null,
      })),
    });
  });
}

async function createQuote(steps: Steps, request: Request): Promise<void> {
  const { deps, submitQuote } = steps;
  const { user_id, deposit_token, deposit_token_chain, attempt } = request.batch;
  const current = await deps.prices.currentPrices(deps.clock.now());
  const input = {
    user_id,
    wanted: { value: { deposit_token, deposit_token_chain } },
    price_version_id: "stale" in current ? null : current.version_id,
  };
  const { body } = await submitQuote(keyed(deps, request, ["quote", String(attempt)], null, input));
  const quote_id: string = JSON.parse(body).quote.id;
  await note(steps, request, (before) => ({ ...before, quote_id }));
}

async function createPart(
  steps: Steps,
  request: Request,
  plan: Plan,
  quote_id: string,
): Promise<void> {
  const { deps, submitOfframps } = steps;
  const { user_id, attempt } = request.batch;
  const part = plan.payouts.slice(plan.created, plan.created + PAYOUTS_AT_ONCE);
  const asked = part.map(({ payment_detail_id, payee_at, item }) => ({
    ...item,
    payment_detail_id: payment_detail_id ?? plan.payees[payee_at!]!.payment_detail_id,
  }));
  const input = { user_id, quote_id, ...checkNewOfframps(deps, user_id, asked, []) };
  const step = ["payouts", String(attempt), String(plan.created)];
  await submitOfframps(keyed(deps, request, step, asked, input)).catch((error) =>
    refuseRow(error, ({ field }) => part[Number(/^offramps\[(\d+)\]/.exec(field)?.[1])]?.n),
  );
  const created = plan.created + part.length;
  const status = created === plan.payouts.length ? "created" : "creating";
  await note(steps, request, (current) => ({ ...withPlan(current, { created }), status }));
}

const CHANGED = "The batch has changed since it was shown to you. Check it again.";

function invalid(message: string): Refusal {
  return Refusal.of([{ field: "digest", code: "invalid_transition", message }]);
}

/** The same bank account in several rows is created once. */
function planOf({ rows }: CheckedBatch): Plan {
  const payees: Plan["payees"] = [];
  const places = new Map<string, number>();
  const placeOf = (n: number, fields: PaymentDetailFields): number => {
    const text = JSON.stringify(fields);
    const place = places.get(text) ?? payees.length;
    if (place === payees.length) payees.push({ n, fields, payment_detail_id: null });
    places.set(text, place);
    return place;
  };
  const payouts = rows.flatMap(({ read: { row, requested: item }, payee }): Plan["payouts"] => {
    if (row.is_excluded || !payee) return [];
    const { n } = row;
    return "known" in payee
      ? [{ n, item, payment_detail_id: payee.known.id, payee_at: null }]
      : [{ n, item, payment_detail_id: null, payee_at: placeOf(n, payee.new) }];
  });
  return { payees, payouts, created: 0 };
}

function withPlan(batch: Batch, change: Partial<Plan>): Batch {
  const { content } = batch;
  if (!content.plan) return batch;
  return { ...batch, content: { ...content, plan: { ...content.plan, ...change } } };
}

/** The command of a step: the same step again is answered as the first time. */
function keyed<Input>(
  { index_key }: BatchDeps,
  { batch, command }: Request,
  step: readonly string[],
  content: unknown,
  input: Input,
): CommandRequest<Input> {
  const text = JSON.stringify(content);
  return {
    ...command(input),
    bytes: text.length,
    idempotency: {
      index: keyedHash(index_key, "step of a payout batch", batch.id, ...step),
      request_hash: keyedHash(index_key, "content of a payout batch", text),
    },
  };
}

/** A refusal that names the rows of the file. */
function refuseRow(error: unknown, rowOf: (problem: Problem) => number | undefined): never {
  if (!(error instanceof Refusal) || error.problems.length === 0) throw error;
  throw Refusal.of(
    error.problems.map((problem) => {
      const n = rowOf(problem);
      return n === undefined ? problem : { ...problem, message: `Row ${n}: ${problem.message}` };
    }),
    error.problems_omitted,
  );
}
