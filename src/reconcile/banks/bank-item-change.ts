import { recordAudit } from "../../accounts/audit.ts";
import type { ControlledChange } from "../../approvals/controlled-change.ts";
import type { Description } from "../../approvals/model.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import {
  type Found,
  prepareSettlement,
  readItemId,
  type Settlement,
  settleItem,
} from "../../partners/bank/file-bank/settle-item.ts";
import { Refusal } from "../../platform/errors.ts";
import { minorToText } from "../../platform/money.ts";

/** An item of `sliproad banks list`, and what a person found out about it. */
type BankItemSettling = { id: string; found: Found };

/**
 * Says what a line or rejection is about that the bank did not tell, or that a deposit was sent
 * back. Where two people can vote, it is a proposal: whoever names the payment decides whether it
 * was paid, or whether its money is the user's again.
 */
export const bankItemChange = (index_key: Buffer): ControlledChange<BankItemSettling> => ({
  kind: "settle-bank-items",
  why: "What a bank did not say about a payment is decided only with two members.",
  summaryOf: ({ id }) => `Settle ${id} of what banks report.`,
  describe: async (session, _, { id, found }) =>
    describe(id, orRefuse(await prepareSettlement(session, itemOf(id), found))),
  apply: async (tx, account_id, { id, found }, by, now) => {
    orRefuse(await settleItem(tx, index_key, itemOf(id), found, now));
    const is_deposit = found === "deposit";
    const named = is_deposit ? null : found;
    const payment = named && "payment" in named ? named.payment : null;
    const file = named && "file" in named ? named.file : null;
    const record = `bank_item:${id}`;
    const act = { account_id, ...by, action: "bank_item.settle" as const, record };
    recordAudit(tx, { ...act, detail: { payment, file, is_deposit } }, now);
  },
});

function itemOf(id: string) {
  return readItemId(id) ?? refuse(`${id} is not an id of sliproad banks list, such as line-12.`);
}

function describe(id: string, settlement: Settlement): Description {
  const { bank_account, amount, currency, booked_on, answers } = settlement;
  const [first] = answers;
  const sum = answers.reduce((total, answer) => total + answer.amount, 0n);
  const which =
    answers.length === 1
      ? `Payment ${first!.end_to_end_id} was`
      : `${answers.length} payments were`;
  const means = first
    ? `${which} ${first.kind}: ${amountText(sum, first.currency)}`
    : "The deposit was sent back by hand";
  return {
    details: [
      ["Item", id],
      ["Amount", amountText(amount, currency)],
      ...(bank_account === null ? [] : ([["Bank account", bank_account]] as const)),
      ...(booked_on === null ? [] : ([["Booked on", booked_on]] as const)),
      ["Means", means],
    ],
    state: answers.map(({ bank_reference }) => bank_reference),
  };
}

function amountText(amount: bigint | null, currency: string | null): string {
  if (amount === null) return "not told";
  if (currency === null) return `${amount} minor units`;
  return `${minorToText(amount, minorDigits(currency) ?? 2)} ${currency}`;
}

function orRefuse(settlement: Settlement | string): Settlement {
  return typeof settlement === "string" ? refuse(settlement) : settlement;
}

function refuse(message: string): never {
  throw Refusal.of([{ field: "item", code: "invalid_transition", message }]);
}
