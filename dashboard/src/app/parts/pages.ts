import type { IconName } from "./icons.tsx";

export type PageLink = { name: string; path: string; icon: IconName; permission: string };

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
  [{ name: "Settings", path: "/settings", icon: "settings", permission: "see_account" }],
];

const SETTINGS = [
  ["Team", "/settings/team", "manage_members"],
  ["Security", "/settings/security", "see_account"],
  ["Audit log", "/settings/audit", "see_keys_and_log"],
  ["Apps", "/settings/developer/apps", "see_apps"],
  ["API keys", "/settings/developer/keys", "see_keys_and_log"],
  ["Logs", "/settings/developer/logs", "see_keys_and_log"],
] as const;

/** What can be found by its name. */
export const PAGES: readonly PageLink[] = [
  ...MENU.flat(),
  ...SETTINGS.map(([name, path, permission]) => {
    return { name, path, icon: "settings" as const, permission };
  }),
];
