import { Refusal } from "../../platform/errors.ts";
import type { Role } from "../model.ts";
import { may, PERMISSIONS, type PermissionName } from "../roles.ts";

/**
 * Which permission a member needs for an operation of the API, in the dashboard: every operation
 * stands under exactly one. What only the operator may do is checked by the operation itself, as
 * for API keys.
 */
export const MEMBER_OPERATIONS = {
  see_account: [
    "showMe",
    "listPaymentDetailRequirements",
    "validatePaymentDetail",
    "calculateQuoteRate",
    "calculateConversion",
    "listFees",
    "showSandboxClock",
  ],
  see_records: [
    "listUsers",
    "showUser",
    "showRetention",
    "listPaymentDetails",
    "showPaymentDetail",
    "listExposures",
    "listQuotes",
    "showQuote",
    "listOfframps",
    "showOfframp",
    "listAccountOfframps",
    "showHistory",
    "listLedgerEntries",
    "listLedgerBalances",
    "listExports",
    "showExport",
    "downloadExport",
    "downloadSupportingDocument",
    "downloadDocument",
    "listLimits",
    "listBalances",
    "listAccountBalances",
    "listCryptoDeposits",
    "listRefundAddresses",
    "listRefunds",
    "listTravelRecords",
    "showTravelRecord",
    "listOnramps",
    "showOnramp",
    "listBankExceptions",
    "listDeposits",
    "showDeposit",
    "listInvoices",
    "showInvoice",
    "downloadInvoice",
    "listNames",
    "showPayout",
    "watchChanges",
    "showOverview",
    "listAccountOnramps",
  ],
  vote: ["listProposals", "showProposal", "listProposedPayouts"],
  prepare_payouts: [
    "createUser",
    "updateUser",
    "createKycSession",
    "createPaymentDetail",
    "deactivatePaymentDetail",
    "createQuote",
    "createOfframps",
    "updateOfframp",
    "deleteOfframp",
    "uploadSupportingDocument",
    "uploadDocument",
  ],
  move_money: [
    "executeQuote",
    "fundQuote",
    "rerouteOfframp",
    "refundOfframp",
    "createRefundAddress",
    "createRefund",
    "createOnramp",
  ],
  manage_invoices: ["createInvoice", "convertInvoice", "changeInvoice"],
  create_exports: ["createExport", "deleteExport"],
  review_documents: ["reviewSupportingDocument"],
  review_screening: ["listScreeningMatches", "clearScreeningMatch", "confirmScreeningMatch"],
  operate: [
    "freezeUser",
    "unfreezeUser",
    "matchDeposit",
    "acceptDepositDifference",
    "returnDeposit",
    "dismissDeposit",
    "resolveBankException",
  ],
  erase_users: ["deleteUser", "restoreUser"],
  see_apps: [
    "listApps",
    "showApp",
    "listWebhookEvents",
    "showWebhookEvent",
    "listWebhookDeliveries",
  ],
  manage_apps: [
    "createApp",
    "updateApp",
    "deleteApp",
    "pauseApp",
    "resumeApp",
    "replayApp",
    "rotateWebhookSecret",
    "switchWebhookSecret",
    "rotateClientSecret",
    "redeliverWebhookEvent",
  ],
  reset_app_used: ["resetAppUsed"],
  use_sandbox: [
    "advanceSandboxClock",
    "setSandboxKyc",
    "setSandboxPaymentDetail",
    "setSandboxOfframp",
    "createSandboxCryptoDeposit",
    "setSandboxOnramp",
    "createSandboxDeposit",
    "sendSandboxWebhook",
    "setSandboxInvoice",
    "createSandboxCryptoTransfer",
  ],
} as const satisfies Partial<Record<PermissionName, readonly string[]>>;

/**
 * What moves money, shows secrets or lets programs in: the person confirmed minutes ago. An invoice
 * says where its buyer pays.
 */
const CONFIRMED: ReadonlySet<PermissionName> = new Set<PermissionName>([
  ...(["move_money", "operate", "erase_users", "manage_apps", "reset_app_used"] as const),
  ...(["review_documents", "review_screening", "manage_invoices"] as const),
]);

/** A payee in a quote that a colleague is about to execute. */
const CONFIRMED_OPERATIONS = ["createOfframps", "deleteOfframp"];

const permission_of = new Map<string, PermissionName>(
  Object.entries(MEMBER_OPERATIONS).flatMap(([permission, operations]) =>
    operations.map((operation) => [operation, permission as PermissionName] as const),
  ),
);

export function mayDo(role: Role, operation: string): boolean {
  const permission = permission_of.get(operation);
  return permission !== undefined && may(role, permission);
}

/** Why a member with this role may not do it now; null when they may. */
export function refuseMember(
  { role, is_confirmed }: { role: Role; is_confirmed: boolean },
  operation: string,
): Refusal | null {
  const permission = permission_of.get(operation);
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
