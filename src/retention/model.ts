/** What is stored about a user that can delay its erasure. */
export type RetentionFacts = {
  /** When the erasure was requested. */
  deactivated_at: Date | null;
  last_payment_at: Date | null;
  has_open_payments: boolean;
  has_balance: boolean;
  /** Frozen, suspended, or the user or a payee may be on a sanctions list. */
  is_held: boolean;
  has_identity_documents: boolean;
};

export const KEPT_RECORDS = [
  "payments",
  "identity_documents",
  "open_payments",
  "balance",
  "hold",
] as const;
export type KeptRecord = (typeof KEPT_RECORDS)[number];

/** Something that prevents the erasure; `until` is null if no time can be given. */
type Kept = { record: KeptRecord; why: string; until: Date | null };

export const RETENTION_STATUSES = ["active", "erasure_requested", "erased"] as const;

export type Retention = {
  user_id: string;
  status: (typeof RETENTION_STATUSES)[number];
  requested_at: Date | null;
  last_payment_at: Date | null;
  /** From when the user can be erased; null if now, or if no time can be given. */
  erase_after: Date | null;
  kept: Kept[];
};

const OPEN_END: Record<"open_payments" | "balance" | "hold", string> = {
  open_payments: "Payments of the user are in progress. Complete or refund them.",
  balance: "The user has a balance. Refund it.",
  hold: "The operator holds the user or the account, or checks on the user are open.",
};

/** What must be kept of a user, why, and until when. Nothing kept: it can be erased now. */
export function retentionOf(
  user_id: string,
  facts: RetentionFacts,
  years: number,
  now: Date,
): Retention {
  const { deactivated_at, last_payment_at } = facts;
  const open: (keyof typeof OPEN_END)[] = [];
  if (facts.has_open_payments) open.push("open_payments");
  if (facts.has_balance) open.push("balance");
  if (facts.is_held) open.push("hold");
  const kept: Kept[] = open.map((record) => ({ record, why: OPEN_END[record], until: null }));
  const until = last_payment_at && addYears(last_payment_at, years);
  if (until && until > now) {
    const after = `must be kept for ${years === 1 ? "1 year" : `${years} years`} after the last`;
    kept.push({ record: "payments", why: `Records of payments ${after} payment.`, until });
    if (facts.has_identity_documents) {
      const why = `The data that identified the user ${after} payment.`;
      kept.push({ record: "identity_documents", why, until });
    }
  }
  return {
    user_id,
    status: deactivated_at ? "erasure_requested" : "active",
    requested_at: deactivated_at,
    last_payment_at,
    erase_after: open.length === 0 && until && until > now ? until : null,
    kept,
  };
}

/** Whether the user has something to do first: money is on its way or owed to them. */
export function isBusy({ has_open_payments, has_balance }: RetentionFacts): boolean {
  return has_open_payments || has_balance;
}

/** The same moment of a later year; the 29th of February becomes the 1st of March. */
export function addYears(time: Date, years: number): Date {
  const later = new Date(time);
  later.setUTCFullYear(time.getUTCFullYear() + years);
  return later;
}
