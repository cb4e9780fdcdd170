import type { Chain } from "../catalogue/chains.ts";
import { checkTxId } from "../partners/chain/tx-id.ts";
import type { Problem } from "../platform/errors.ts";
import { chainOf, checkPaymentOptions } from "./check-parties.ts";
import { CHANGE_TYPES, type ChangeInput, type ChangeType } from "./model.ts";
import { compactObject, type Fields, objectOf, readFields } from "./read-fields.ts";

const NOTE_MAX = 2_000;
const LINK_MAX = 2_048;
const CHAIN_MAX = 100;
const SIGNATURE_MAX = 200;

/** Fields that only one type of change accepts. */
const OWN_FIELDS: Readonly<Record<string, ChangeType>> = {
  txHash: "declareSentPayment",
  chain: "declareSentPayment",
  signature: "declareSentPayment",
  paymentOptions: "changePaymentOptions",
};

/**
 * Checks a requested change; reports all problems at once. `chains` are those on which a payment
 * can be found.
 */
export function checkChange(
  body: unknown,
  already: readonly Problem[],
  chains: readonly Chain[] = [],
): { name: ChangeType | null; input: ChangeInput | null; problems: readonly Problem[] } {
  const fields = readFields(already);
  const { type, input: wrapped } = objectOf(body);
  const name = CHANGE_TYPES.find((known) => known === type) ?? null;
  const given = objectOf(wrapped);
  refuseMisplaced(fields, given, name);
  const { note, amount, txLink, paymentOptions } = given;
  const input = compactObject({
    note: fields.text("input.note", note, NOTE_MAX, true),
    amount: fields.digits("input.amount", amount),
    txLink: fields.text("input.txLink", txLink, LINK_MAX),
    ...readClaim(fields, given, chains),
    paymentOptions:
      name === "changePaymentOptions" && Array.isArray(paymentOptions)
        ? checkPaymentOptions(fields, paymentOptions, "input.")
        : undefined,
  }) as ChangeInput;
  if (name === "reject" && input.note === undefined) fields.missing("input.note");
  if (name === "changePaymentOptions" && input.paymentOptions === undefined) {
    fields.missing("input.paymentOptions");
  }
  const link = input.txLink === undefined ? null : URL.parse(input.txLink);
  if (input.txLink !== undefined && !["https:", "http:"].includes(link?.protocol ?? "")) {
    fields.report("input.txLink", "record_invalid", "Send an https URL.");
  }
  const is_empty = Object.keys(input).length === 0;
  return { name, input: is_empty ? null : input, problems: fields.problems };
}

function refuseMisplaced(
  fields: Fields,
  given: Record<string, unknown>,
  name: ChangeType | null,
): void {
  for (const [field, type] of Object.entries(OWN_FIELDS)) {
    if (given[field] === undefined || given[field] === null || name === null) continue;
    if (name === type) continue;
    const message = `Only ${type} takes this field; leave it out.`;
    fields.report(`input.${field}`, "record_invalid", message);
  }
}

/** The transfer by which the buyer paid, normalized for comparison. */
function readClaim(
  fields: Fields,
  given: Record<string, unknown>,
  chains: readonly Chain[],
): ChangeInput {
  const text = (name: string, limit: number) => fields.text(`input.${name}`, given[name], limit);
  const tx_hash = text("txHash", SIGNATURE_MAX);
  const chain_name = text("chain", CHAIN_MAX);
  const signature = text("signature", SIGNATURE_MAX);
  const is_claim = [tx_hash, chain_name, signature].some((value) => value !== undefined);
  if (!is_claim) return {};
  if (tx_hash === undefined) fields.missing("input.txHash");
  if (chain_name === undefined) fields.missing("input.chain");
  const chain = chain_name === undefined ? undefined : chainOf(chain_name);
  if (chain_name !== undefined && !chain) {
    const message = "Send the chain of one of the invoice's wallets, e.g. polygon.";
    fields.report("input.chain", "record_invalid", message);
  }
  if (chain && !chains.includes(chain)) {
    const message = `Transfers on ${chain} are not checked here; leave txHash and chain out.`;
    fields.report("input.chain", "record_invalid", message);
  }
  const checked = chain && tx_hash !== undefined ? checkTxId(chain, tx_hash) : null;
  if (checked && "reason" in checked) {
    fields.report("input.txHash", "record_invalid", checked.reason);
  }
  const txHash = checked && "value" in checked ? checked.value : undefined;
  return compactObject({ txHash, chain: chain_name, signature }) as ChangeInput;
}
