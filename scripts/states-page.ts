import { FEE_KINDS, type FeeTable } from "../src/catalogue/fees.ts";
import { type EnumName, MEANINGS } from "../src/docs/api/meanings.ts";
import { CHANGES, INVOICE_STATUSES } from "../src/invoices/model.ts";
import { KYC_MOVES } from "../src/kyc/model.ts";
import { OFFRAMP_MOVES } from "../src/offramps/model.ts";
import { DEPOSIT_MOVES, ONRAMP_MOVES } from "../src/onramps/model.ts";
import { PAYMENT_DETAIL_MOVES } from "../src/payment-details/model.ts";

type Table = (head: string[], rows: string[][]) => string;
type Moves = Readonly<Record<string, readonly string[]>>;

/** Every state machine, from the transition tables that the code moves records by. */
export function statesPage(table: Table): string[] {
  const machines: [title: string, name: EnumName, moves: Moves][] = [
    ["Offramps", "OfframpStatus", OFFRAMP_MOVES],
    ["Onramps", "OnrampStatus", ONRAMP_MOVES],
    ["KYC", "KycStatus", KYC_MOVES],
    ["Payment details", "PaymentDetailStatus", PAYMENT_DETAIL_MOVES],
    ["Invoices", "InvoiceStatus", invoiceMoves()],
    ["Bank deposits", "DepositStatus", DEPOSIT_MOVES],
  ];
  return [
    "The status of every record, what it means, and which status can follow. A status without a " +
      "next one is final. `fiat_sent` is not final: a bank can return a payment weeks later.",
    ...machines.flatMap(([title, name, moves]) => [
      `## ${title}`,
      table(
        ["status", "meaning", "next"],
        Object.entries<string>(MEANINGS[name]).map(([status, meaning]) => [
          code(status),
          meaning,
          (moves[status] ?? []).map(code).join(", ") || "final",
        ]),
      ),
    ]),
  ];
}

function invoiceMoves(): Moves {
  const entries = INVOICE_STATUSES.map((from) => {
    const next = Object.values(CHANGES).flatMap(({ moves }) => moves[from] ?? []);
    return [from, [...new Set(next)].filter((to) => to !== from)];
  });
  return Object.fromEntries(entries);
}

/** The fees as they are charged, from the same table. */
export function feesPage(table: Table, fees: FeeTable): string[] {
  return [
    "A fee is a share of the destination amount in basis points (1 bp = 0.01 %), plus a flat part " +
      "that is stated in usd and converted at the rates of the quote. It is rounded up to the " +
      "minor digit of the currency. An operator can change this table with a file.",
    table(
      ["for", "basis points", "flat part in usd"],
      FEE_KINDS.map((kind) => [code(kind), `${fees[kind].basis_points}`, fees[kind].flat_usd]),
    ),
  ];
}

function code(text: string): string {
  return `\`${text}\``;
}
