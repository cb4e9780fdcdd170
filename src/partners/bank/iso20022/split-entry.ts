import type { Charge, EntryDetail } from "./entry-detail.ts";

/** A line of our account, as far as its division concerns. */
type EntryFacts = {
  amount: bigint;
  currency: string;
  is_debit: boolean;
  charges: readonly Charge[];
};

/** A detail with the amount that it moved; without detail, the bank's fee or the whole line. */
export type EntryPart = {
  detail: EntryDetail | null;
  amount: bigint;
  is_debit: boolean;
  is_charge: boolean;
  problem: string | null;
};

/**
 * Divides a line among its details so that the parts are exactly the line. Only amounts in the
 * account's currency count. On a debit, fees that the bank added are a part of their own; on a
 * credit, what arrived counts. Details that do not add up leave the line whole, for a person.
 */
export function splitEntry(entry: EntryFacts, details: readonly EntryDetail[]): EntryPart[] {
  if (details.length === 0) return [whole(entry, null, null)];
  if (details.length === 1) return splitOne(entry, details[0]!);
  const amounts = details.map((detail) => amountsIn(entry, detail)[0]);
  if (amounts.some((amount) => amount === undefined)) {
    return [whole(entry, null, "Not every detail of this line has an amount.")];
  }
  const parts = details.map((detail, at) => part(entry, detail, amounts[at]!));
  const signed = parts.map((one, at) => ({
    ...one,
    is_debit: details[at]!.is_debit ?? entry.is_debit,
  }));
  // Banks may repeat the direction of the payments that a reversal concerns.
  for (const tried of [signed, parts]) {
    const divided = dividedBy(entry, tried);
    if (divided) return divided;
  }
  return [whole(entry, null, "The details of this line do not add up to its amount.")];
}

function splitOne(entry: EntryFacts, detail: EntryDetail): EntryPart[] {
  const amounts = amountsIn(entry, detail);
  const [amount] = amounts;
  if (amount === undefined || amounts.includes(entry.amount)) return [whole(entry, detail, null)];
  // What arrived counts; the payer's bank and those on the way took the rest.
  if (!entry.is_debit && amount > entry.amount) return [whole(entry, detail, null)];
  return (
    dividedBy(entry, [part(entry, detail, amount)]) ?? [
      whole(entry, detail, "The detail of this line has another amount than the line."),
    ]
  );
}

/** The parts, with fees if they explain the difference; null if nothing does. */
function dividedBy(entry: EntryFacts, parts: readonly EntryPart[]): EntryPart[] | null {
  const sum = parts.reduce(
    (total, one) => total + (one.is_debit === entry.is_debit ? one.amount : -one.amount),
    0n,
  );
  if (sum === entry.amount) return [...parts];
  const own = parts.map(({ detail }) => chargesIn(entry, detail!.charges));
  const of_details = own.reduce((total, fee) => total + fee, 0n);
  const of_entry = chargesIn(entry, entry.charges);
  if (entry.is_debit) {
    const fee = entry.amount - sum;
    if (fee <= 0n || (fee !== of_details && fee !== of_entry)) return null;
    const charge = { detail: null, amount: fee, is_debit: true, is_charge: true, problem: null };
    return [...parts, charge];
  }
  const net = parts.map((one, at) => ({ ...one, amount: one.amount - own[at]! }));
  return sum - of_details === entry.amount && net.every(({ amount }) => amount > 0n) ? net : null;
}

function part(entry: EntryFacts, detail: EntryDetail, amount: bigint): EntryPart {
  return { detail, amount, is_debit: entry.is_debit, is_charge: false, problem: null };
}

function whole(entry: EntryFacts, detail: EntryDetail | null, problem: string | null): EntryPart {
  return { detail, amount: entry.amount, is_debit: entry.is_debit, is_charge: false, problem };
}

function amountsIn({ currency }: EntryFacts, { amounts }: EntryDetail): bigint[] {
  return amounts.filter((money) => money.currency === currency).map(({ amount }) => amount);
}

function chargesIn({ currency }: EntryFacts, charges: readonly Charge[]): bigint {
  return charges
    .filter((charge) => charge.currency === currency)
    .reduce((total, { amount }) => total + amount, 0n);
}
