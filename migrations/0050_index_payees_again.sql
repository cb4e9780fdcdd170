-- Breaks running code: no
set local lock_timeout = '5s';

-- The blind index of a payee is made from the number of the account now, not from the text of its
-- first field. A background task (payment-details/index-payees.ts) fills in what is null.
update payment_details set payee_index = null;
create index payment_details_without_payee on payment_details (account_id, id)
  where payee_index is null;
