import { SETTINGS } from "../paths.ts";
import { may, session } from "../session.ts";
import type { IconName } from "./icons.tsx";

export type PageLink = {
  name: string;
  path: string;
  icon: IconName;
  permission: string;
  /** A page of the server, outside this program. */
  is_outside?: boolean;
  /** For the members of the operator's account only. */
  is_operators?: boolean;
  is_of_sandbox?: boolean;
};

/** The menu, in groups. */
export const MENU: readonly (readonly PageLink[])[] = [
  [
    { name: "Overview", path: "/overview", icon: "overview", permission: "see_records" },
    { name: "Payouts", path: "/payouts", icon: "payouts", permission: "see_records" },
    { name: "Quotes", path: "/quotes", icon: "quotes", permission: "see_records" },
    { name: "Deposits", path: "/deposits", icon: "deposits", permission: "see_records" },
    { name: "People", path: "/people", icon: "people", permission: "see_records" },
    { name: "Bank accounts", path: "/bank-accounts", icon: "bank", permission: "see_records" },
    { name: "Invoices", path: "/invoices", icon: "invoices", permission: "see_records" },
    { name: "Ledger", path: "/ledger", icon: "ledger", permission: "see_records" },
    { name: "Approvals", path: "/approvals", icon: "approvals", permission: "see_account" },
  ],
  [
    { name: "Documents", path: "/documents", icon: "invoices", permission: "review_documents" },
    {
      ...{ name: "Screening", path: "/dashboard/screening", icon: "shield" },
      ...{ permission: "review_screening", is_outside: true, is_operators: true },
    },
    {
      ...{
        name: "Outbox",
        path: "/dashboard/outbox",
        icon: "mail",
        permission: "manage_members",
      },
      ...{ is_outside: true, is_operators: true, is_of_sandbox: true },
    },
    { name: "Settings", path: "/settings", icon: "settings", permission: "see_account" },
  ],
];

/** Whether this member gets to see it. */
export function isShown({ permission, is_operators, is_of_sandbox }: PageLink): boolean {
  const { account, mode } = session;
  return (
    may(permission) &&
    (account.is_operator || !is_operators) &&
    (mode === "sandbox" || !is_of_sandbox)
  );
}

/** What can be found by its name. */
export const PAGES: readonly PageLink[] = [
  ...MENU.flat(),
  ...Object.values(SETTINGS).map((section) => ({ ...section, icon: "settings" as const })),
];
