import { type Check, eachPage } from "./checks.ts";

type Row = {
  id: string;
  status: string;
  sequence: number;
  last_status: string | null;
  last_sequence: number | null;
};

/**
 * Every move of a payment detail is an event. One that is put back to an earlier state has the MAC
 * of that state, but not the number of its last event.
 */
export const verifyPaymentDetails: Check = (session, account_id) =>
  eachPage<Row>(session, account_id, QUERY, async (rows) => {
    const wrong = rows.find(
      ({ status, sequence, last_status, last_sequence }) =>
        sequence !== (last_sequence ?? 0) || status !== (last_status ?? status),
    );
    if (!wrong) return null;
    const { id, status, last_status } = wrong;
    const said = last_status === null ? "has no event" : `is ${last_status} by its last event`;
    return `payment detail ${id} of account ${account_id} is ${status}, but ${said}`;
  });

const QUERY = `select d.id, d.status, d.sequence, e.to_status as last_status,
    e.sequence as last_sequence
  from payment_details d
  left join lateral (
    select to_status, sequence from events
    where account_id = d.account_id and record_id = d.id and name = 'payment_detail_update'
    order by sequence desc limit 1
  ) e on true
  where d.account_id = $1 and d.id > $2 order by d.id limit $3`;
