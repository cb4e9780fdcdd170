import { Refusal } from "../../platform/errors.ts";
import { type KeyScope, scopeOf } from "../key-scopes.ts";
import type { Role } from "../model.ts";
import { may, PERMISSIONS, type PermissionName } from "../roles.ts";

/**
 * The permission that a member needs in the dashboard for what a key needs a scope for. What only
 * the operator may do is checked by the operation itself, as for API keys.
 */
const PERMISSION_OF_SCOPE: Readonly<Record<KeyScope, PermissionName>> = {
  read: "see_records",
  "payouts:create": "prepare_payouts",
  "payouts:execute": "move_money",
  refunds: "move_money",
  onramps: "move_money",
  invoices: "manage_invoices",
  exports: "create_exports",
  webhooks: "manage_apps",
  admin: "operate",
  sandbox: "use_sandbox",
};

/** Where roles differ within a scope, and what only the dashboard has. */
const OTHERS: Partial<Record<PermissionName, readonly string[]>> = {
  see_account: [
    ...["showMe", "listPaymentDetailRequirements", "validatePaymentDetail", "calculateQuoteRate"],
    ...["calculateConversion", "listFees", "showSandboxClock"],
    ...["showSecurity", "revokeAppConsent", "listApprovals", "watchChanges"],
  ],
  see_keys_and_log: ["listKeys", "listAuditLog", "listRequests", "showRequest"],
  manage_keys: ["createKey", "rotateKey", "revokeKey"],
  manage_members: [
    ...["listTeam", "inviteMember", "changeMember", "sendInvitation", "proposeApprovalAmount"],
  ],
  see_records: [
    ...["listNames", "showPayout", "showOverview", "showFlows", "listAccountOnramps"],
    ...["listAccountQuotes", "showAccountQuote", "listAccountCryptoDeposits"],
    ...[
      "listDepositCandidates",
      "listOpenSends",
      "listRecordWebhooks",
      "showBooks",
      "listJournal",
      "showAccountOnramp",
      "listPayouts",
      "listPayoutViews",
      "savePayoutView",
      "deletePayoutView",
      "searchRecords",
      "listBankAccounts",
    ],
  ],
  prepare_payouts: [
    ...["listBatches", "showBatch", "createBatch", "changeBatch", "deleteBatch"],
    "createBatchPayouts",
  ],
  vote: ["voteOnApproval", "listProposals", "showProposal", "listProposedPayouts"],
  see_apps: [
    ...["listApps", "showApp"],
    ...["listWebhookEvents", "showWebhookEvent", "listWebhookDeliveries"],
    ...["listAppDeliveries", "showAppDelivery", "showReplayCount"],
  ],
  use_sandbox: ["sendTestEvent"],
  manage_apps: ["createApp", "deleteApp", "rotateClientSecret"],
  reset_app_used: ["resetAppUsed"],
  // The audit log is among them.
  create_exports: ["startVerification", "listExports", "showExport", "downloadExport"],
  review_kyc: ["listKycReviews", "showKycReview", "showKycReviewVersion", "decideKycReview"],
  review_documents: [
    ...["listReviewedDocuments", "showReviewedDocument", "downloadReviewedDocument"],
    ...["approveReviewedDocument", "reviewSupportingDocument"],
  ],
  review_screening: ["listScreeningMatches", "clearScreeningMatch", "confirmScreeningMatch"],
  erase_users: ["deleteUser", "restoreUser"],
};

/**
 * What moves money, shows secrets or lets programs in: the person confirmed minutes ago. An invoice
 * says where its buyer pays.
 */
const CONFIRMED: ReadonlySet<PermissionName> = new Set<PermissionName>([
  ...(["move_money", "operate", "erase_users", "manage_apps", "reset_app_used"] as const),
  ...(["review_documents", "review_screening", "review_kyc", "manage_invoices"] as const),
  ...(["manage_keys", "manage_members"] as const),
]);

/**
 * A payee that a colleague may choose, in a quote that a colleague executes, or in a file that
 * becomes one, the text by which a payee may tell whose payment it is, a document, which a payout
 * may wait for, a link by which somebody identifies as a user, and a vote.
 */
const CONFIRMED_OPERATIONS = [
  ...["createPaymentDetail", "deactivatePaymentDetail", "createKycSession"],
  ...["createOfframps", "updateOfframp", "deleteOfframp", "voteOnApproval"],
  "uploadSupportingDocument",
  ...["createBatch", "changeBatch", "deleteBatch", "createBatchPayouts"],
];

const permission_of_others = new Map(
  Object.entries(OTHERS).flatMap(([permission, operations]) =>
    operations.map((operation) => [operation, permission as PermissionName] as const),
  ),
);

function permissionOf(operation: string): PermissionName | undefined {
  const scope = scopeOf(operation);
  return permission_of_others.get(operation) ?? (scope && PERMISSION_OF_SCOPE[scope]);
}

export function mayDo(role: Role, operation: string): boolean {
  const permission = permissionOf(operation);
  return permission !== undefined && may(role, permission);
}

/** Why a member with this role may not do it now; null when they may. */
export function refuseMember(
  { role, is_confirmed }: { role: Role; is_confirmed: boolean },
  operation: string,
): Refusal | null {
  const permission = permissionOf(operation);
  if (permission === undefined || !may(role, permission)) {
    const who = permission ? ` Roles that may: ${PERMISSIONS[permission].roles.join(", ")}.` : "";
    return new Refusal("insufficient_scope", `Your role may not do this.${who}`);
  }
  return is_confirmed || !needsConfirmation(permission, operation)
    ? null
    : new Refusal("confirmation_required");
}

function needsConfirmation(permission: PermissionName, operation: string): boolean {
  if (CONFIRMED_OPERATIONS.includes(operation)) return true;
  return CONFIRMED.has(permission) && !/^(list|show|download)/.test(operation);
}
