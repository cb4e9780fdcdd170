/** Every page of this program; the first that fits is shown. The tests visit each of them. */
export const PATHS = {
  overview: "/overview",
  batches: "/payouts/batches/:id?",
  payouts: "/payouts/:id?",
  documents: "/documents/:id?",
  quotes: "/quotes/:id?",
  deposits: "/deposits/:id?",
  reviews: "/people/reviews/:account_id?/:user_id?",
  bank_accounts: "/bank-accounts/:action?",
  people: "/people/:id?",
  approvals: "/approvals/:id?",
  ledger: "/ledger",
  settings: "/settings/*?",
  invoices: "/invoices/:id?",
} as const;
export type PageName = keyof typeof PATHS;

export const DEVELOPER = "/settings/developer";

/** The sections of the settings, and what a role needs to see them. */
export const SETTINGS = {
  team: { name: "Team", path: "/settings/team", permission: "manage_members" },
  security: { name: "Security", path: "/settings/security", permission: "see_account" },
  audit: { name: "Audit log", path: "/settings/audit", permission: "see_keys_and_log" },
  apps: { name: "Apps", path: `${DEVELOPER}/apps`, permission: "see_apps" },
  keys: { name: "API keys", path: `${DEVELOPER}/keys`, permission: "see_keys_and_log" },
  logs: { name: "Logs", path: `${DEVELOPER}/logs`, permission: "see_keys_and_log" },
} as const;
export type SectionName = keyof typeof SETTINGS;
