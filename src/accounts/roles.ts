import { ROLES, type Role } from "./model.ts";

export const ROLE_NAMES: Record<Role, string> = {
  admin: "Admin",
  finance_manager: "Finance manager",
  accountant: "Accountant",
  approver: "Approver",
  developer: "Developer",
};

type Permission = { readonly roles: readonly Role[]; readonly meaning: string };

/**
 * What each role may do: the one table that pages and use cases check. The reference page
 * (docs/reference/roles.md) is generated from it.
 */
export const PERMISSIONS = {
  see_account: {
    roles: ROLES,
    meaning: "See the account, its open proposals and the applications that you authorized.",
  },
  vote: {
    roles: ["admin", "finance_manager", "approver"],
    meaning: "See the details of proposals, and confirm or reject them.",
  },
  review_kyc: {
    roles: ["admin", "finance_manager", "approver"],
    meaning:
      "Review KYC applications: in the operator's account those of all accounts, elsewhere those " +
      "of your account once the operator has delegated its reviews.",
  },
  review_documents: {
    roles: ["admin", "finance_manager", "approver"],
    meaning:
      "See rejected supporting documents and approve them with a reason: in the operator's " +
      "account those of all accounts, elsewhere your account's once the operator has delegated it.",
  },
  review_screening: {
    roles: ["admin", "finance_manager", "approver"],
    meaning:
      "In the operator's account only: compare people with entries of screening lists, and clear " +
      "or confirm a match.",
  },
  see_records: {
    roles: ["admin", "finance_manager", "accountant", "approver"],
    meaning: "See the history of a payout, user or other record, with its postings and decisions.",
  },
  prepare_payouts: {
    roles: ["admin", "finance_manager"],
    meaning:
      "Register users and bank accounts, create quotes and payouts, and attach documents. " +
      "Nothing is paid by it.",
  },
  move_money: {
    roles: ["admin", "finance_manager"],
    meaning:
      "Execute and fund quotes, change, remove, re-route and refund payouts, and create onramps.",
  },
  manage_invoices: {
    roles: ["admin", "finance_manager"],
    meaning: "Create invoices, change where they are paid, accept, reject and cancel them.",
  },
  create_exports: {
    roles: ["admin", "finance_manager", "accountant"],
    meaning:
      "Create, download and remove files for auditors, the audit log among them; in the " +
      "operator's account, start a check of all books.",
  },
  operate: {
    roles: ["admin", "finance_manager"],
    meaning:
      "In the operator's account only: decide on bank deposits and exceptions, and put users on " +
      "hold.",
  },
  erase_users: {
    roles: ["admin"],
    meaning: "Erase a person's data, and take that back in time.",
  },
  see_keys_and_log: {
    roles: ["admin", "developer"],
    meaning:
      "See the API keys (their last four characters), the requests that were sent, and the audit " +
      "log.",
  },
  manage_keys: {
    roles: ["admin"],
    meaning: "Create, rotate and revoke API keys.",
  },
  manage_members: {
    roles: ["admin"],
    meaning: "Invite and remove members, change their roles, and reset a lost second factor.",
  },
  see_apps: {
    roles: ["admin", "developer"],
    meaning: "See applications, webhook events and their deliveries.",
  },
  manage_apps: {
    roles: ["admin", "developer"],
    meaning:
      "Create and delete applications, and rotate their secrets; with client credentials, which " +
      "change invoices without anybody's consent, only whoever may create invoices.",
  },
  reset_app_used: {
    roles: ["admin"],
    meaning: "Reset an application to “not used yet”, so that it receives all invoice events.",
  },
  use_sandbox: {
    roles: ["admin", "finance_manager", "developer"],
    meaning: "In sandbox mode: play the bank, the chain and the reviewers.",
  },
  manage_consents: {
    roles: ["admin"],
    meaning: "See and revoke what other members authorized applications to do.",
  },
  authorize_reads: {
    roles: ROLES,
    meaning: "Authorize an application to read invoices (`invoices:read`).",
  },
  authorize_writes: {
    roles: ["admin", "finance_manager"],
    meaning: "Authorize an application to create and change invoices (`invoices:write`).",
  },
} as const satisfies Record<string, Permission>;

export type PermissionName = keyof typeof PERMISSIONS;

/** A former member has no role and no permissions. */
export function may(role: Role | undefined, permission: PermissionName): boolean {
  const { roles }: Permission = PERMISSIONS[permission];
  return role !== undefined && roles.includes(role);
}

/** The operator's members review the users of all accounts; an account's own, where delegated. */
export function mayReviewKyc(
  member: { account_id: string; role: Role | undefined; is_operator: boolean },
  account: { id: string; kyc_review_by_account: boolean },
): boolean {
  if (!may(member.role, "review_kyc")) return false;
  return member.is_operator || (member.account_id === account.id && account.kyc_review_by_account);
}
