import type { BankReason } from "../report.ts";
import { ACH_REASONS } from "./ach-reasons.ts";
import { ISO_REASONS } from "./iso-reasons.ts";
import type { ReasonAction } from "./reason-table.ts";

/** Codes that mean one thing in a status and another in a return: a person reads the text. */
const AMBIGUOUS: ReadonlySet<string> = new Set(["AC14", "AC16", "BE08"]);

const NEXT_STEPS: Readonly<Record<ReasonAction, string>> = {
  other_account: "Re-route it to another payment detail, or refund it.",
  correct: "Re-route it to a corrected payment detail, or refund it.",
  later: "Re-route it to the same payment detail, or refund it.",
  own_fault: "Ask the operator to correct this, then re-route it, or refund it.",
  operator: "Ask the operator before you re-route it, or refund it.",
};

type Explained = {
  /** A sentence for `status_message`, such as "The bank returned the payment because …." */
  because: string | null;
  next_step: string;
  /** Whether paying again can succeed without a person of the operator's looking at it. */
  is_reroute_sensible: boolean;
};

/**
 * What a person has to know about the reasons of a bank. The first known code decides; codes that
 * nobody knows are named, and are the operator's. The bank's own text is not repeated: it may name
 * other people.
 */
export function explainReasons(reasons: readonly BankReason[]): Explained {
  const codes = reasons.flatMap(({ code }) => code?.trim().toUpperCase() || []);
  const known = codes
    .filter((code) => !AMBIGUOUS.has(code))
    .flatMap((code) => ISO_REASONS.get(code) ?? ACH_REASONS.get(code) ?? []);
  const [found] = known;
  // One reason that needs a person is enough.
  const action = known.some((reason) => reason.action === "operator")
    ? "operator"
    : (found?.action ?? (codes.length > 0 ? "operator" : "other_account"));
  const named = codes[0] && /^[A-Z0-9-]{1,20}$/.test(codes[0]) ? ` ${codes[0]}` : " of its own";
  const unknown = codes.length > 0 ? `of the reason${named}` : null;
  return {
    because: found?.because ?? unknown,
    next_step: NEXT_STEPS[action],
    is_reroute_sensible: action !== "operator" && action !== "own_fault",
  };
}
