-- Breaks running code: no
set local lock_timeout = '5s';

-- The sums of limits: the payment details that name a bank account, and the payouts to each.
create index payment_details_payee on payment_details
  ((coalesce(payee_index, uuid_send(id))), account_id);
create index offramps_payment_detail on offramps (payment_detail_id, account_id);
