import { type EnumName, MEANINGS } from "../src/docs/api/meanings.ts";
import { CHANGES, INVOICE_STATUSES } from "../src/invoices/model.ts";
import { KYC_MOVES } from "../src/kyc/model.ts";
import { DOCUMENT_MOVES, OFFRAMP_MOVES } from "../src/offramps/model.ts";
import { QUOTE_MOVES } from "../src/offramps/quotes/model.ts";
import { DEPOSIT_MOVES, ONRAMP_MOVES } from "../src/onramps/model.ts";
import { PAYMENT_DETAIL_MOVES } from "../src/payment-details/model.ts";

type Table = (head: string[], rows: string[][]) => string;
type Moves = Readonly<Record<string, readonly string[]>>;

/** Every state machine, from the transition tables of the code. */
export function statesPage(table: Table): string[] {
  const machines: [title: string, name: EnumName, moves: Moves][] = [
    ["Quotes", "QuoteStatus", QUOTE_MOVES],
    ["Offramps", "OfframpStatus", OFFRAMP_MOVES],
    ["Supporting documents", "DocumentStatus", DOCUMENT_MOVES],
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

function code(text: string): string {
  return `\`${text}\``;
}
