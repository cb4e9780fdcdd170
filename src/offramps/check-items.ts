import { minorDigits } from "../catalogue/currencies.ts";
import { type Metadata, readMetadata } from "../catalogue/metadata.ts";
import { isRail, type Rail } from "../catalogue/rails.ts";
import {
  CONTROLS,
  hasControlCharacters,
  INVISIBLE,
  isBlank,
  isLongerThan,
  isVisible,
  lowerAscii,
  whyUrlChanges,
} from "../catalogue/text.ts";
import { SANDBOX_OUTCOMES } from "../partners/bank/sandbox.ts";
import type { Mode } from "../platform/config/config.ts";
import type { ErrorCode, Problem } from "../platform/errors.ts";
import { isId } from "../platform/ids.ts";
import { parseAmount } from "../platform/money.ts";
import { Problems } from "../platform/problems.ts";

/** One item of a creation request, as far as it can be checked without the database. */
export type CheckedItem = {
  payment_detail_id: string | null;
  destination_currency: string | null;
  /** Minor units. */
  destination_amount: bigint | null;
  requested_rail: Rail | null;
  /** False when the requested rail does not exist. */
  is_rail_known: boolean;
  reference: string | null;
  submitted_url: string | null;
  /** The uploaded document that `submitted_url` refers to. */
  document_id: string | null;
  /** The invoice that the offramp pays. */
  invoice_id: string | null;
  metadata: Metadata;
};

const REFERENCE_LENGTH_MAX = 140;
const URL_LENGTH_MAX = 2048;

type UrlRules = {
  /** http URLs are accepted in the sandbox only. */
  mode: Mode;
  /** Why a document can never be fetched from this URL, judged by its text alone. */
  refuseUrl: (url: string) => string | null;
};

/** Checks the items of a request. The result starts with the problems found before. */
export function checkItems(
  items: unknown,
  rules: UrlRules,
  already: readonly Problem[],
): { items: CheckedItem[]; problems: readonly Problem[] } {
  const list = Array.isArray(items) ? items : [];
  const problems = new Problems(already);
  const checked = list.map((item, index) => {
    const { report } = problems.within(`offramps[${index}]`);
    const is_object = typeof item === "object" && item !== null && !Array.isArray(item);
    const input = (is_object ? item : {}) as Record<string, unknown>;
    return {
      ...checkPayment(input, report),
      reference: checkReference(input.reference, report),
      submitted_url: checkUrl(input.supporting_document_attributes, rules, report),
      document_id: null,
      invoice_id: checkInvoiceId(input.invoice_id, report),
      metadata: checkMetadata(input.metadata, rules.mode, report),
    };
  });
  return { items: checked, problems: problems.list };
}

type Report = (name: string, code: ErrorCode, message: string) => void;

function checkPayment(input: Record<string, unknown>, report: Report) {
  const payment_detail_id = readText(input.payment_detail_id);
  if (payment_detail_id === null) {
    report("payment_detail_id", "parameter_missing", "Send payment_detail_id.");
  } else if (!isId(payment_detail_id)) {
    report("payment_detail_id", "record_invalid", "Send the id of a payment detail.");
  }
  const text = readText(input.destination_currency);
  const destination_currency = text === null ? null : lowerAscii(text);
  const digits = destination_currency === null ? undefined : minorDigits(destination_currency);
  if (destination_currency === null) {
    report("destination_currency", "parameter_missing", "Send destination_currency, e.g. eur.");
  } else if (digits === undefined) {
    const message =
      "This currency is not supported for payouts; see GET /payment_detail_requirements.";
    report("destination_currency", "currency_not_supported", message);
  }
  const rail = readText(input.rails);
  const requested_rail = rail === null ? null : lowerAscii(rail);
  return {
    payment_detail_id:
      payment_detail_id && isId(payment_detail_id) ? payment_detail_id.toLowerCase() : null,
    destination_currency: digits === undefined ? null : destination_currency,
    destination_amount: parseItemAmount(input.destination_amount, digits, report),
    requested_rail: requested_rail !== null && isRail(requested_rail) ? requested_rail : null,
    is_rail_known: requested_rail === null || isRail(requested_rail),
  };
}

function parseItemAmount(
  value: unknown,
  digits: number | undefined,
  report: Report,
): bigint | null {
  if (isBlank(value)) {
    report("destination_amount", "parameter_missing", "Send destination_amount.");
    return null;
  }
  // With an unknown currency the format is still checked, with the most digits any currency has.
  const parsed = parseAmount(value, digits ?? 4);
  if ("value" in parsed) return digits === undefined ? null : parsed.value;
  report("destination_amount", "record_invalid", parsed.reason);
  return null;
}

function checkInvoiceId(value: unknown, report: Report): string | null {
  const id = readText(value);
  if (id === null) return null;
  if (isId(id)) return id.toLowerCase();
  report("invoice_id", "record_invalid", "Send the id of an invoice.");
  return null;
}

export function checkReference(value: unknown, report: Report): string | null {
  const reference = readText(value);
  if (reference === null) return null;
  if (hasControlCharacters(reference)) {
    report("reference", "record_invalid", CONTROLS);
  } else if (!isVisible(reference)) {
    report("reference", "record_invalid", INVISIBLE);
  } else if (isLongerThan(reference, REFERENCE_LENGTH_MAX)) {
    const message = `Shorten it to at most ${REFERENCE_LENGTH_MAX} characters.`;
    report("reference", "value_too_long", message);
  }
  return reference;
}

/** In sandbox, `sandbox_outcome` is a request to the bank: one that it does not know is refused. */
export function checkMetadata(value: unknown, mode: Mode, report: Report): Metadata {
  const metadata = readMetadata(value, "metadata", report) ?? {};
  if (mode !== "sandbox" || !Object.hasOwn(metadata, "sandbox_outcome")) return metadata;
  const known: readonly string[] = SANDBOX_OUTCOMES;
  const outcomes = String(metadata.sandbox_outcome).split(",");
  if (!outcomes.every((outcome) => known.includes(outcome.trim()))) {
    const message = `Send ${known.join(", ")}, or one per attempt, separated by commas.`;
    report("metadata.sandbox_outcome", "record_invalid", message);
  }
  return metadata;
}

function checkUrl(attributes: unknown, rules: UrlRules, report: Report): string | null {
  if (typeof attributes !== "object" || attributes === null) return null;
  const text = readText((attributes as Record<string, unknown>).submitted_url);
  if (text === null) return null;
  const name = "supporting_document_attributes.submitted_url";
  if (text.length > URL_LENGTH_MAX) {
    report(name, "value_too_long", `Shorten it to at most ${URL_LENGTH_MAX} characters.`);
    return text;
  }
  const why = whyUrlChanges(text);
  if (why) {
    report(name, "record_invalid", why);
    return text;
  }
  const protocols = rules.mode === "sandbox" ? ["https:", "http:"] : ["https:"];
  const url = URL.parse(text);
  if (!url || !protocols.includes(url.protocol) || url.username || url.password) {
    report(
      name,
      "record_invalid",
      "Send an https URL of the file itself, without a user name or password.",
    );
    return text;
  }
  const reason = rules.refuseUrl(text);
  if (reason !== null) {
    const message = `${reason} Send a URL that can be fetched, or upload the file first.`;
    report(name, "record_invalid", message);
  }
  return text;
}

function readText(value: unknown): string | null {
  return typeof value === "string" && !isBlank(value) ? value.trim() : null;
}
