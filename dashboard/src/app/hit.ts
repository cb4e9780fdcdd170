/** A record, as a line of text that leads to its page. */
export type Hit = {
  kind: keyof typeof PATHS;
  id: string;
  user_id: string | null;
  title: string;
  note: string;
};

/** Where each has its page; a bank account and a refund are on the page of their person. */
const PATHS = {
  payout: ({ id }: Ids) => `/payouts/${id}`,
  person: ({ id }: Ids) => `/people/${id}`,
  bank_account: ({ user_id }: Ids) => `/people/${user_id}`,
  quote: ({ id }: Ids) => `/quotes/${id}`,
  onramp: ({ id }: Ids) => `/deposits/${id}`,
  refund: ({ user_id }: Ids) => `/people/${user_id}`,
  invoice: ({ id }: Ids) => `/invoices/${id}`,
  request: ({ id }: Ids) => `/settings/developer/logs/${id}`,
} as const;
type Ids = { id: string; user_id: string | null };

export function pathOfHit(hit: Hit): string {
  return PATHS[hit.kind](hit);
}
