import type { Chain, Token } from "../catalogue/chains.ts";
import type { Metadata } from "../catalogue/metadata.ts";
import type { Rail } from "../catalogue/rails.ts";
import { keyedHash } from "../platform/encryption/cipher.ts";
import { isoTime } from "../platform/iso-time.ts";
import { digestOf } from "../platform/sealing/seal.ts";

export const OFFRAMP_STATUSES = [
  "initiated",
  "pending_internal_assessment",
  "ongoing_checks",
  "sending_fiat",
  "fiat_sent",
  "bounced",
  "failed",
] as const;
export type OfframpStatus = (typeof OFFRAMP_STATUSES)[number];

/** Legal transitions. `fiat_sent` is not final: banks return payments weeks later. */
export const OFFRAMP_MOVES: Readonly<Record<OfframpStatus, readonly OfframpStatus[]>> = {
  initiated: ["pending_internal_assessment", "failed"],
  pending_internal_assessment: ["sending_fiat", "ongoing_checks", "failed"],
  ongoing_checks: ["sending_fiat", "failed"],
  sending_fiat: ["fiat_sent", "bounced", "failed"],
  fiat_sent: ["bounced"],
  bounced: ["sending_fiat", "failed"],
  failed: [],
};

export const DOCUMENT_STATUSES = ["not_checked", "approved", "rejected"] as const;
export type DocumentStatus = (typeof DOCUMENT_STATUSES)[number];

/**
 * Legal transitions of a supporting document. A new file starts at `not_checked`; only a member can
 * approve a rejected file.
 */
export const DOCUMENT_MOVES: Readonly<Record<DocumentStatus, readonly DocumentStatus[]>> = {
  not_checked: ["approved", "rejected"],
  approved: ["rejected", "not_checked"],
  rejected: ["not_checked", "approved"],
};

/** The personal data of an offramp, stored encrypted. */
type OfframpDetails = {
  reference: string | null;
  metadata: Metadata;
  submitted_url: string | null;
  /** Why the document was rejected; personal, as the reviewer may have named people. */
  document_comment?: string | null;
};

type PayoutReference = {
  end_to_end_id: string;
  trace_number: string | null;
  uetr: string | null;
};

export type Offramp = {
  account_id: string;
  id: string;
  user_id: string;
  quote_id: string;
  payment_detail_id: string;
  /** The invoice that the offramp pays, if any. */
  invoice_id: string | null;
  status: OfframpStatus;
  status_message: string | null;
  /** Minor units of the currency. */
  destination_amount: bigint;
  destination_currency: string;
  rails: Rail;
  /** Destination units for one token, as exact decimal text. */
  rate: string;
  /** Minor units of the currency. */
  fee: bigint;
  deposit_token: Token;
  deposit_token_chain: Chain;
  /** Millionths of a token. */
  token_amount: bigint;
  token_fee: bigint;
  details: OfframpDetails;
  document_status: DocumentStatus | null;
  document_source: "url" | "upload" | null;
  /** The document uploaded before the offramp was created; null if it has its own. */
  document_id: string | null;
  /** Key of the stored copy; null until there is one. */
  document_file: string | null;
  document_hash: Buffer | null;
  document_type: string | null;
  document_version: number;
  /** Uploaded after two members had approved the payout: they have to approve it too. */
  document_after_approval: boolean;
  /** Failed attempts to fetch the document from its URL. */
  document_fetch_failures: number;
  /** When its part of the deposit was reserved. */
  funded_at: Date | null;
  attempt: number;
  /** Until when its rate is kept while it waits or is bounced; null when it does neither. */
  rate_until: Date | null;
  /** Since when that time stands still, because only the operator can act. */
  rate_paused_at: Date | null;
  /** What it gave back when it failed, in millionths of a token; null unless it was funded. */
  given_back: bigint | null;
  /** The rate at which money that had left and come back was converted. */
  refund_rate: string | null;
  payout_reference: PayoutReference | null;
  /** Number of the last event. */
  sequence: number;
  created_at: Date;
  updated_at: Date;
};

/** In these states documents and references may still change. */
export const BEFORE_PAYOUT: readonly OfframpStatus[] = [
  "initiated",
  "pending_internal_assessment",
  "ongoing_checks",
];

export function isBeforePayout(status: OfframpStatus): boolean {
  return BEFORE_PAYOUT.includes(status);
}

/** The blind index of a reference in the account, whatever its case and spaces. */
export function hashReference(index_key: Buffer, account_id: string, reference: string): Buffer {
  const words = reference.normalize("NFKC").toLowerCase().split(/\s+/).filter(Boolean);
  return keyedHash(index_key, "offramp reference", account_id, words.join(" "));
}

export function indexReference(
  index_key: Buffer,
  { account_id, details: { reference } }: Pick<Offramp, "account_id" | "details">,
): Buffer | null {
  return reference ? hashReference(index_key, account_id, reference) : null;
}

/** Every non-personal field: what the digest in the last event covers. */
export function digestFacts(offramp: Omit<Offramp, "details">): Buffer {
  return digestOf(
    offramp.account_id,
    offramp.id,
    offramp.user_id,
    offramp.quote_id,
    offramp.payment_detail_id,
    offramp.status,
    offramp.status_message,
    offramp.destination_amount,
    offramp.destination_currency,
    offramp.rails,
    offramp.rate,
    offramp.fee,
    offramp.deposit_token,
    offramp.deposit_token_chain,
    offramp.token_amount,
    offramp.token_fee,
    offramp.document_status,
    offramp.document_source,
    offramp.document_file,
    offramp.document_hash?.toString("base64") ?? null,
    offramp.document_type,
    offramp.document_version,
    offramp.funded_at && isoTime(offramp.funded_at),
    offramp.attempt,
    offramp.payout_reference?.end_to_end_id ?? null,
    offramp.payout_reference?.trace_number ?? null,
    offramp.payout_reference?.uetr ?? null,
    offramp.sequence,
    isoTime(offramp.created_at),
    isoTime(offramp.updated_at),
    // Only where there is one, so that older digests stay valid.
    ...(offramp.invoice_id === null ? [] : [offramp.invoice_id]),
    ...(offramp.rate_until === null ? [] : [`rate until ${isoTime(offramp.rate_until)}`]),
    ...(offramp.rate_paused_at === null
      ? []
      : [`rate paused at ${isoTime(offramp.rate_paused_at)}`]),
    ...(offramp.given_back === null ? [] : [`given back ${offramp.given_back}`]),
    ...(offramp.refund_rate === null ? [] : [`refund rate ${offramp.refund_rate}`]),
    ...(offramp.document_id === null ? [] : [`document ${offramp.document_id}`]),
    ...(offramp.document_after_approval ? ["document after approval"] : []),
  );
}
