/** The groups of the API reference, in the order in which an integrator needs them. */
export const TAGS: readonly { name: string; description: string; guides: readonly string[] }[] = [
  {
    name: "Users",
    description: "A user is a payer of your account: the person or company whose money moves.",
    guides: ["first-payout"],
  },
  {
    name: "KYC",
    description: "Identity verification of a user on a page that Sliproad hosts.",
    guides: ["kyc"],
  },
  {
    name: "Payment details",
    description: "Bank accounts of the people and companies that are paid.",
    guides: ["first-payout", "adding-a-currency-or-rail"],
  },
  {
    name: "Quotes",
    description: "Locks rates and fees for a set of offramps and names the address to pay to.",
    guides: ["first-payout", "deposits-and-balances"],
  },
  {
    name: "Offramps",
    description:
      "One payout to one payment detail. `fiat_sent` is not final: a bank can return a payment " +
      "weeks later.",
    guides: ["first-payout"],
  },
  {
    name: "Supporting documents",
    description: "The document that explains a payout, such as an invoice or a payslip.",
    guides: ["documents"],
  },
  {
    name: "Limits",
    description: "How much may leave: of a user, to a payee, of the account.",
    guides: ["operating"],
  },
  {
    name: "Balances",
    description:
      "What Sliproad owes to a user: deposits that no quote could use and payouts that were " +
      "given up. A balance can fund another quote or be refunded.",
    guides: ["deposits-and-balances"],
  },
  {
    name: "Onramps",
    description: "A bank deposit that is converted to a token and delivered to a crypto address.",
    guides: ["onramps"],
  },
  {
    name: "Travel records",
    description:
      "Who sent tokens to whom: the data that laws require of onramp deliveries and refunds.",
    guides: ["onramps"],
  },
  {
    name: "Deposits",
    description: "Bank deposits that wait for a decision of the operator. Operator keys only.",
    guides: ["onramps", "operating"],
  },
  {
    name: "Ledger",
    description: "The double-entry books of the account, and files for auditors.",
    guides: ["operating"],
  },
  {
    name: "Invoices",
    description: "Invoices and salaries between accounts, paid by an offramp or elsewhere.",
    guides: ["invoices"],
  },
  {
    name: "Applications",
    description: "OAuth applications with their webhook endpoint.",
    guides: ["oauth", "webhooks"],
  },
  {
    name: "Webhook events",
    description: "The log of all events, their deliveries, and sending them again.",
    guides: ["webhooks"],
  },
  {
    name: "Proposals",
    description: "Requests that need the approval of two members.",
    guides: ["operating"],
  },
  {
    name: "Screening",
    description: "People who are like an entry of a sanctions list, for the operator.",
    guides: ["screening"],
  },
  {
    name: "Sandbox",
    description:
      "Routes that play banks, chains and reviewers, and move the clock. Not in live mode.",
    guides: ["first-payout"],
  },
];
