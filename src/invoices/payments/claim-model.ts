import type { Chain } from "../../catalogue/chains.ts";
import { TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { lowerAscii } from "../../catalogue/text.ts";
import { checkAddress } from "../../partners/chain/check-address.ts";
import { isSignature, signerCheck } from "../../partners/chain/check-signature.ts";
import type { ChainTransaction, WalletTransfer } from "../../partners/chain/port.ts";
import { DAY_MS } from "../../platform/durations.ts";
import type { Problem } from "../../platform/errors.ts";
import { powerOfTen } from "../../platform/money.ts";
import { chainOf } from "../check-parties.ts";
import type { PaymentOption } from "../document.ts";
import type {
  ChangeInput,
  ChangeName,
  Invoice,
  InvoiceChange,
  TrackedTransaction,
} from "../model.ts";

/*
 * A claim: the buyer names the transfer on chain that pays an invoice.
 *
 *   declareSentPayment with txHash → the claim waits (a row of invoice_claims, one per invoice)
 *   transfer final and valid       → trackTransaction
 *       sender signed by the buyer, or the seller has confirmed → the transfer is used, paid
 *       else                       → the claim waits for the seller; the transfer is not used yet,
 *                                    so that a false claim cannot take it from its sender
 *   transfer invalid, used, or not found in time → dropClaim with the reason
 *   markUnpaid                     → the claim is deleted
 *
 * Whenever an invoice is checked, also without a claim, it stops showing the transfers that others
 * have used, and those that it has not used itself and no longer claims (withdrawTransfers).
 */

export type PaymentClaim = {
  account_id: string;
  invoice_id: string;
  chain: Chain;
  tx_id: string;
  expires_at: Date;
};

/** One token counts as one dollar. */
const CLAIM_CURRENCY = "USD";

/** How long a transfer may take to become final. */
const CLAIM_LIFE_MS = DAY_MS;

/** The claim that a change creates, if any. */
export function claimsOf({
  invoice: { account_id, id },
  change,
}: {
  invoice: Pick<Invoice, "account_id" | "id">;
  change: InvoiceChange;
}): PaymentClaim[] {
  const { name, input, at } = change;
  const chain = input?.chain === undefined ? undefined : chainOf(input.chain);
  if (name !== "declareSentPayment" || input?.txHash === undefined || !chain) return [];
  const expires_at = new Date(at.getTime() + CLAIM_LIFE_MS);
  return [{ account_id, invoice_id: id, chain, tx_id: input.txHash, expires_at }];
}

/** Why a claim is invalid, whatever the chain says. */
export function claimProblems(
  invoice: Pick<Invoice, "id" | "currency" | "document">,
  name: ChangeName | null,
  input: ChangeInput | null,
): Problem[] {
  const chain = input?.chain === undefined ? undefined : chainOf(input.chain);
  if (name !== "declareSentPayment" || input?.txHash === undefined || !chain) return [];
  const invalid = (field: string, message: string): Problem => {
    return { field: `input.${field}`, code: "record_invalid", message };
  };
  if (invoice.currency !== CLAIM_CURRENCY) {
    const message = `Only invoices in ${CLAIM_CURRENCY} can be paid on chain; leave txHash out.`;
    return [invalid("txHash", message)];
  }
  const problems: Problem[] = [];
  if (walletsOn(invoice.document.paymentOptions, chain).length === 0) {
    const message = "The invoice has no wallet on this chain among its paymentOptions.";
    problems.push(invalid("chain", message));
  }
  const { signature } = input;
  if (signature !== undefined && !isSignature(chain, invoice.id, signature)) {
    const message = `Send the signature of ${invoice.id} by the address that paid.`;
    problems.push(invalid("signature", message));
  }
  return problems;
}

/** A coin that the invoice accepts, and its address. */
type Wallet = { token: string; address: string };

function walletsOn(options: readonly PaymentOption[], chain: Chain): Wallet[] {
  return options.flatMap(({ type, value }) => {
    const { paymentAddress, chain: named } = value.paymentInformation;
    if (type !== "wallet" || paymentAddress === undefined) return [];
    const checked = checkAddress(chain, paymentAddress);
    if (!("value" in checked)) return [];
    return value.currencies.flatMap((id) => {
      const [token = "", ...network] = id.split("-").map(lowerAscii);
      const coin_chain = chainOf(network.length > 0 ? network.join("-") : (named ?? ""));
      return coin_chain === chain ? [{ token, address: checked.value }] : [];
    });
  });
}

/** The transfers that may pay the invoice, in order; or that it waits, or why none can. */
type Judged = { candidates: TrackedTransaction[] } | { reason: string } | { wait: true };

export function judgeClaim(
  invoice: Pick<Invoice, "total" | "document">,
  history: readonly InvoiceChange[],
  claim: PaymentClaim,
  found: ChainTransaction,
  now: Date,
): Judged {
  const { chain, tx_id } = claim;
  if (found.status === "failed") return { reason: `The transaction failed on ${chain}.` };
  if (found.status !== "final") {
    if (now < claim.expires_at) return { wait: true };
    return { reason: `The transaction was not final on ${chain} within 24 hours.` };
  }
  const wallets = walletsOn(invoice.document.paymentOptions, chain);
  const received = found.transfers.filter(({ token, to }) =>
    wallets.some((wallet) => wallet.token === token && wallet.address === to),
  );
  if (received.length === 0) {
    return { reason: "The transaction sends no token of the invoice to its wallet." };
  }
  const needed = tokensFor(invoice.total);
  const whole = received.filter(({ amount }) => amount >= needed);
  if (whole.length === 0) return { reason: "The transfer is less than the invoice's total." };
  const payable_at = history.find(({ name }) => name === "create")!.at;
  if (found.mined_before < payable_at) {
    return { reason: "The transfer was mined before the invoice became payable." };
  }
  const candidates = whole.map((transfer) => toTracked(chain, tx_id, transfer, found.mined_at));
  return { candidates };
}

/** Tells whether the buyer has proved by signature that a transfer's sender is theirs. */
export function proofCheck(
  invoice_id: string,
  history: readonly InvoiceChange[],
  chain: Chain,
): (tracked: TrackedTransaction) => boolean {
  const signature = history.findLast(({ input }) => input?.txHash !== undefined)?.input?.signature;
  if (signature === undefined) return () => false;
  const isSigner = signerCheck(chain, invoice_id, signature);
  return ({ from }) => isSigner(from);
}

/** By `transferName`, which invoice has used each transfer. */
export type TransferUsers = ReadonlyMap<string, string>;

/** What the invoice shows, although it is not its own and it does not claim it. */
export function foreignTransfers(
  { id, tracked }: Pick<Invoice, "id" | "tracked">,
  users: TransferUsers,
  claim: PaymentClaim | undefined,
): TrackedTransaction[] {
  return tracked.filter((shown) => {
    const user = users.get(transferName(shown));
    if (user !== undefined) return user !== id;
    return claim?.chain !== shown.chain || claim.tx_id !== shown.tx_id;
  });
}

export function transferName(of: { chain: string; tx_id: string; log_index: number }): string {
  return `${of.chain} ${of.tx_id} ${of.log_index}`;
}

export function isSameTransfer(one: TrackedTransaction, other: TrackedTransaction): boolean {
  const { chain, tx_id, log_index } = other;
  return one.chain === chain && one.tx_id === tx_id && one.log_index === log_index;
}

function tokensFor(total: bigint): bigint {
  return total * powerOfTen(TOKEN_DIGITS - minorDigits(lowerAscii(CLAIM_CURRENCY))!);
}

function toTracked(
  chain: Chain,
  tx_id: string,
  { log_index, token, amount, from, to }: WalletTransfer,
  mined_at: Date,
): TrackedTransaction {
  const numbers = { log_index, amount: String(amount), mined_at: mined_at.toISOString() };
  return { chain, tx_id, token, from, to, ...numbers };
}
