/** Why nothing may leave. */
export type Hold = {
  /** `restore`: the database is an old copy, so what left after it is not known here. */
  kind: "operator" | "restore";
  reason: string;
  held_at: Date;
};

/**
 * Whether money may leave. Everything that pays, returns, refunds, delivers or sweeps asks: no
 * partner gets anything while a hold is open.
 */
export type Leaving = {
  /** Before any work; null: it may leave. */
  findHold(): Promise<Hold | null>;
  /**
   * Once what leaves is stored, and before it leaves; false: it must stay. It also counts, in the
   * database and outside of it, so that an older copy of the database is noticed.
   */
  mayLeave(): Promise<boolean>;
};

/** For adapters that are used without a service. */
export const ALWAYS_LEAVING: Leaving = {
  findHold: async () => null,
  mayLeave: async () => true,
};

/** A hold began between the question and the call: the caller's task tries again, and waits. */
export class PayoutsHeld extends Error {
  override name = "PayoutsHeld";
}

/** How soon a payout that waits for a release is looked at again. */
export const HELD_ASKED_AGAIN_AFTER_MS = 15_000;
