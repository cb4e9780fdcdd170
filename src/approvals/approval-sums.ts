import { type AccountControls, lockControls } from "../accounts/controls-store.ts";
import type { Session, Transaction } from "../platform/db/database.ts";
import { DAY_MS } from "../platform/durations.ts";
import { greatest } from "../platform/money.ts";
import { findCounted, findUnapprovedSums, insertUnapproved } from "./amount-store.ts";

/** Minor units of a currency or a token. */
export type Amount = {
  amount: bigint;
  currency: string;
  /** Tokens that are not sent but pay for payouts: these are worth less by our spread. */
  is_paid_out?: boolean;
};

/** An amount in cents of usd, rounded up; null when no rate is available. */
export type ToUsd = (amount: Amount) => bigint | null;

export type SumRules = {
  /** Cents: a larger amount needs two members. Undefined: no amount does, unless an account's. */
  limit_usd: bigint | undefined;
  /** Reads the rates in the transaction that decides. */
  usdValue: (session: Session) => Promise<ToUsd>;
  now: () => Date;
};

/** A request whose amount may need approval. */
export type Counted = {
  account_id: string;
  amount: Amount | null;
  /** What leaves for it at a rate of before; it counts if it is worth more now. */
  leaving?: Amount | null;
  /**
   * The records that it counts as: it counts once, under the first. None: only its own amount
   * matters.
   */
  counts_as: readonly string[];
};

/** Why a request needs two members; null when it does not. */
type ApprovalReason = "amount" | "sum" | null;

export const APPROVAL_REASONS = {
  amount: "The amount is above the approval amount.",
  sum: "With what went without approval in the last 24 hours it is above the approval amount.",
} as const satisfies Record<Exclude<ApprovalReason, null>, string>;

/** How much of an account's requests of the last 24 hours may still go without approval. */
export type ApprovalSums = {
  amountOf: (request: Counted) => bigint | null;
  reasonFor: (request: Counted) => ApprovalReason;
  /** Counts a request that goes without approval. */
  take: (request: Counted) => void;
  /** The same sums, to try what would be taken. */
  copy: () => ApprovalSums;
  /** Writes what was taken. */
  record: (tx: Transaction, now: Date) => void;
};

/** First statement of a transaction that moves money: accounts are locked before all else. */
export function lockSums(
  tx: Session,
  { limit_usd }: SumRules,
  owned: readonly { account_id: string }[],
): Promise<AccountControls[]> {
  return lockControls(tx, owned, limit_usd !== undefined);
}

/** Reads the sums of locked accounts; without a limit this reads nothing but the rates. */
export async function loadSums(
  tx: Session,
  rules: SumRules,
  controls: readonly AccountControls[],
  requests: readonly Counted[],
  needs_rates = false,
): Promise<ApprovalSums> {
  const limits = new Map(
    controls.flatMap(({ account_id, approval_above_usd }) => {
      const limit = approval_above_usd ?? rules.limit_usd;
      return limit === undefined ? [] : [[account_id, limit] as const];
    }),
  );
  const counted = requests.filter(({ account_id }) => limits.has(account_id));
  if (counted.length === 0) {
    const toUsd = needs_rates ? await rules.usdValue(tx) : () => null;
    return new Sums(limits, new Map(), new Set(), toUsd);
  }
  const account_ids = [...limits.keys()];
  const record_ids = counted.flatMap(({ counts_as }) => counts_as);
  const [sums, known, toUsd] = await Promise.all([
    findUnapprovedSums(tx, account_ids, new Date(rules.now().getTime() - DAY_MS)),
    findCounted(tx, account_ids, record_ids),
    rules.usdValue(tx),
  ]);
  return new Sums(limits, sums, known, toUsd);
}

class Sums implements ApprovalSums {
  readonly #limits: ReadonlyMap<string, bigint>;
  readonly #sums: Map<string, bigint>;
  readonly #known: Set<string>;
  readonly #toUsd: ToUsd;
  readonly #taken: { account_id: string; record_id: string; amount_usd: bigint }[] = [];

  constructor(
    limits: ReadonlyMap<string, bigint>,
    sums: Map<string, bigint>,
    known: Set<string>,
    toUsd: ToUsd,
  ) {
    this.#limits = limits;
    this.#sums = sums;
    this.#known = known;
    this.#toUsd = toUsd;
  }

  amountOf({ amount, leaving = null }: Counted): bigint | null {
    const amount_usd = amount && this.#toUsd(amount);
    if (amount_usd === null || leaving === null) return amount_usd;
    const leaving_usd = this.#toUsd(leaving);
    return leaving_usd && greatest(amount_usd, leaving_usd);
  }

  reasonFor(request: Counted): ApprovalReason {
    const limit = this.#limits.get(request.account_id);
    if (limit === undefined) return null;
    const amount_usd = this.amountOf(request);
    if (amount_usd === null || amount_usd > limit) return "amount";
    if (!this.#isNew(request)) return null;
    return this.#sumOf(request.account_id) + amount_usd > limit ? "sum" : null;
  }

  take(request: Counted): void {
    const { account_id, counts_as } = request;
    if (!this.#limits.has(account_id) || !this.#isNew(request)) return;
    const amount_usd = this.amountOf(request)!;
    this.#sums.set(account_id, this.#sumOf(account_id) + amount_usd);
    const [record_id] = counts_as;
    this.#known.add(record_id!);
    this.#taken.push({ account_id, record_id: record_id!, amount_usd });
  }

  copy(): Sums {
    return new Sums(this.#limits, new Map(this.#sums), new Set(this.#known), this.#toUsd);
  }

  record(tx: Transaction, now: Date): void {
    insertUnapproved(
      tx,
      this.#taken.map((entry) => ({ ...entry, created_at: now })),
    );
  }

  #sumOf(account_id: string): bigint {
    return this.#sums.get(account_id) ?? 0n;
  }

  #isNew({ counts_as }: Counted): boolean {
    return counts_as.length > 0 && !counts_as.some((id) => this.#known.has(id));
  }
}
