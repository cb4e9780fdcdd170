import { findControls } from "../accounts/controls-store.ts";
import type { Account } from "../accounts/model.ts";
import { findAccountById } from "../accounts/store.ts";
import { type AccountChange, updateAccount } from "../accounts/update-account.ts";
import { Refusal } from "../platform/errors.ts";
import { minorToText } from "../platform/money.ts";
import type { ControlledChange } from "./controlled-change.ts";
import type { Detail } from "./model.ts";

/** Who reviews for an account, and above which amount two members have to approve. */
export const accountChange: ControlledChange<AccountChange> = {
  kind: "change-accounts",
  summaryOf: () => "Change the settings of the account.",
  describe: async (session, account_id, change) => {
    const account = await findAccountById(session, account_id);
    if (!account) throw new Refusal("record_not_found");
    const { approval_above_usd } = await findControls(session, account_id);
    const before = { ...account, approval_above_usd };
    const names = (Object.keys(SETTINGS) as (keyof AccountChange)[]).filter(
      (name) => change[name] !== undefined,
    );
    return {
      details: [
        ["Account", account.name],
        ...names.map((name): Detail => {
          const shown = SETTINGS[name] as Setting;
          const [from, to] = [before[name], change[name] as Value].map(shown.show);
          return [shown.label, `${from} → ${to}`];
        }),
      ],
      state: [],
    };
  },
  apply: async (tx, account_id, change, by, now): Promise<Account> => {
    const account = await findAccountById(tx, account_id);
    if (!account) throw new Refusal("record_not_found");
    return updateAccount(tx, account, change, by, now);
  },
};

type Value = boolean | bigint | null;
type Setting = { label: string; show: (value: Value) => string };

const byWhom = (value: Value) => (value ? "the account and the operator" : "the operator");

const SETTINGS: Readonly<Record<keyof AccountChange, Setting>> = {
  kyc_two_person_approval: {
    label: "KYC decisions",
    show: (value) => (value ? "by two members" : "by one member"),
  },
  kyc_review_by_account: { label: "KYC review", show: byWhom },
  document_review_by_account: { label: "Document review", show: byWhom },
  approval_above_usd: {
    label: "Approval amount",
    show: (value) =>
      typeof value === "bigint" ? `${minorToText(value, 2)} usd` : "the installation's",
  },
};
