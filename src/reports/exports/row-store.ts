import type { AuditRow } from "../../accounts/audit-store.ts";
import type { Session } from "../../platform/db/database.ts";

/** The records of one account whose ids are from `from_id` and below `below_id`, oldest first. */
export type IdRange = { account_id: string; from_id: string; below_id: string; limit: number };

const RANGE = "account_id = $1 and id >= $2 and id < $3 order by id limit $4";

const valuesOf = ({ account_id, from_id, below_id, limit }: IdRange) => [
  account_id,
  from_id,
  below_id,
  limit,
];

type PayoutRow = {
  id: string;
  created_at: Date;
  updated_at: Date;
  user_id: string;
  quote_id: string;
  payment_detail_id: string;
  invoice_id: string | null;
  status: string;
  destination_currency: string;
  destination_amount: bigint;
  fee: bigint;
  rails: string;
  rate: string;
  deposit_token: string;
  deposit_token_chain: string;
  token_amount: bigint;
  funded_at: Date | null;
  attempt: number;
  end_to_end_id: string | null;
  returned_amount: bigint | null;
};

/** Offramps, with the last payment of each. */
export function listPayoutRows(session: Session, range: IdRange): Promise<PayoutRow[]> {
  return session.query(
    `select o.id, o.created_at, o.updated_at, o.user_id, o.quote_id, o.payment_detail_id,
       o.invoice_id, o.status, o.destination_currency, o.destination_amount, o.fee, o.rails,
       o.rate::text as rate, o.deposit_token, o.deposit_token_chain, o.token_amount, o.funded_at,
       o.attempt, p.end_to_end_id, p.returned_amount
     from (select * from offramps where ${RANGE}) o
     left join payouts p on p.account_id = o.account_id and p.offramp_id = o.id
       and p.attempt = o.attempt
     order by o.id`,
    valuesOf(range),
  );
}

export async function listEntryIdsBetween(session: Session, range: IdRange): Promise<string[]> {
  const rows = await session.query<{ id: string }>(
    `select id from ledger_entries where ${RANGE}`,
    valuesOf(range),
  );
  return rows.map(({ id }) => id);
}

type DepositRow = {
  id: string;
  created_at: Date;
  source: "crypto" | "bank";
  user_id: string | null;
  quote_id: string | null;
  onramp_id: string | null;
  currency: string;
  amount: bigint;
  chain: string | null;
  tx_id: string | null;
  log_index: number | null;
  sender: string | null;
  bank_reference: string | null;
  status: string | null;
  received_at: Date;
};

/** Transfers on a chain, and in the operator's account also bank deposits. */
export function listDepositRows(session: Session, range: IdRange): Promise<DepositRow[]> {
  return session.query(
    `select * from (
       (select id, created_at, 'crypto' as source, user_id, quote_id, null::uuid as onramp_id,
          token as currency, amount, chain, tx_id, log_index, sender, null as bank_reference,
          null as status, mined_at as received_at
        from deposits where ${RANGE})
       union all
       (select id, created_at, 'bank', null, null, onramp_id, currency, amount, null, null, null,
          null, bank_reference, status, booked_at
        from fiat_deposits where ${RANGE})
     ) as both_kinds order by id limit $4`,
    valuesOf(range),
  );
}

export function listAuditBetween(
  session: Session,
  range: IdRange,
): Promise<Omit<AuditRow, "account_id">[]> {
  return session.query(
    `select id, at, actor, action, record, reason, detail from audit_entries where ${RANGE}`,
    valuesOf(range),
  );
}

type ApprovalRow = {
  id: string;
  created_at: Date;
  updated_at: Date;
  kind: string;
  record_id: string;
  amount_usd: string | null;
  proposed_by: string;
  status: string;
  outcome: string | null;
  votes: { person_id: string; verdict: string; created_at: string }[];
};

export function listApprovalRows(session: Session, range: IdRange): Promise<ApprovalRow[]> {
  return session.query(
    `select p.id, p.created_at, p.updated_at, p.kind, p.record_id, p.amount_usd::text as amount_usd,
       p.proposed_by, p.status, p.outcome, coalesce((
         select json_agg(json_build_object('person_id', v.person_id, 'verdict', v.verdict,
           'created_at', to_char(v.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
           order by v.created_at, v.person_id)
         from proposal_votes v where v.account_id = p.account_id and v.proposal_id = p.id
       ), '[]'::json) as votes
     from (select * from proposals where ${RANGE}) p order by p.id`,
    valuesOf(range),
  );
}
