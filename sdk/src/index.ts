export type { CallOptions } from "./api.ts";
export { Sliproad, type SliproadOptions } from "./client.ts";
export type { DownloadedFile } from "./download.ts";
export {
  type ClientErrorCode,
  isSliproadError,
  SliproadError,
  type SliproadErrorCode,
} from "./errors.ts";
export type { List, Page } from "./list.ts";
export type { components, operations, paths } from "./openapi.ts";
export type * from "./resources/apps.ts";
export type * from "./resources/balances.ts";
export type * from "./resources/conversions.ts";
export type * from "./resources/deposits.ts";
export type * from "./resources/documents.ts";
export type * from "./resources/exposures.ts";
export type * from "./resources/fees.ts";
export type * from "./resources/invoices.ts";
export type * from "./resources/kycs.ts";
export type * from "./resources/ledger.ts";
export type * from "./resources/limits.ts";
export type * from "./resources/me.ts";
export type * from "./resources/offramps.ts";
export type * from "./resources/onramps.ts";
export type * from "./resources/payment-details.ts";
export type * from "./resources/proposals.ts";
export type * from "./resources/quotes.ts";
export type * from "./resources/records.ts";
export type * from "./resources/sandbox.ts";
export type * from "./resources/screening-matches.ts";
export type * from "./resources/travel-records.ts";
export type * from "./resources/users.ts";
export type * from "./resources/webhook-events.ts";
export type { ErrorBody, ErrorCode, FieldError } from "./types.ts";
export type { FileSource } from "./upload.ts";
export { API_VERSION } from "./version.ts";
export type { InvoiceEvent, InvoiceEventName, WebhookEvent } from "./webhook-events.ts";
export {
  type RawBody,
  type SignOptions,
  type VerifyOptions,
  type WebhookHeaders,
  WebhookVerificationError,
  type WebhookVerificationReason,
  webhooks,
} from "./webhooks.ts";
