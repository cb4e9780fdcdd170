import { expect, it } from "vitest";
import { SENTENCES } from "../../dashboard/src/app/pages/settings/audit/action-sentences.ts";
import { factsOf, sayAction } from "../../dashboard/src/app/pages/settings/audit/sentences.ts";
import { AUDIT_ACTIONS } from "../../src/accounts/audit-actions.ts";

it("the dashboard has a sentence for everything that the audit log can say, and no other", () => {
  expect(Object.keys(SENTENCES).sort()).toEqual([...AUDIT_ACTIONS].sort());
});

const PAYOUT = "0197f5c0-0000-7000-8000-000000000001";
const QUOTE = "0197f5c0-0000-7000-8000-000000000002";
const ERASED = "0197f5c0-0000-7000-8000-00000000000e";
const user_id = "0197f5c0-0000-7000-8000-000000000003";
const KNOWN = {
  names: {},
  records: {
    [PAYOUT]: { kind: "payout", id: PAYOUT, user_id, title: "1800.5 eur", note: "Ana Sample" },
    [QUOTE]: { kind: "quote", id: QUOTE, user_id, title: "Quote of Ana Sample", note: "…00000002" },
  },
} as const;

it("a record is named as what it is, with its amount in the one format", () => {
  const say = (action: string, record: string) => sayAction({ action, record }, KNOWN);
  expect(say("offramp.refund", `offramp:${PAYOUT}`)).toBe(
    "refunded the payout 1\u202f800.50 EUR (Ana Sample)",
  );
  expect(say("quote.execute", `quote:${QUOTE}`)).toBe(
    "executed the quote of Ana Sample (…00000002)",
  );
  expect(say("user.erase", `user:${ERASED}`)).toBe("erased the user …0000000e");
});

it("what was set shows amounts in the one format, whatever they were kept in, and names", () => {
  const facts = (detail: Record<string, unknown>) => factsOf({ detail }, KNOWN);
  expect(facts({ approval_above_usd: "1000000" })).toEqual([
    ["approval above", "10\u202f000.00 USD"],
  ]);
  expect(facts({ amount_usd: "12345.6" })).toEqual([["amount", "12\u202f345.60 USD"]]);
  expect(facts({ bought: "50000 eur", sold: "581500000 usdc" })).toEqual([
    ["bought", "500.00 EUR"],
    ["sold", "581.50 USDC"],
  ]);
  expect(facts({ block: 7, amounts: ["-1500000 usdc"] })).toEqual([
    ["block", "7"],
    ["amounts", "\u22121.50 USDC"],
  ]);
  expect(facts({ hash: "e6a3".repeat(16), fields: "webhook_url events" })).toEqual([
    ["hash", "e6a3e6a3…"],
    ["changed", "webhook URL, events"],
  ]);
  expect(facts({ quote_id: QUOTE, role: "admin", none: null })).toEqual([
    ["quote", "of Ana Sample (…00000002)"],
    ["role", "admin"],
  ]);
});
