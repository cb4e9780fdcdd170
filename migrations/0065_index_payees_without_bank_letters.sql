-- Breaks running code: no
set local lock_timeout = '5s';

-- A British number with its sort code names the account of the plain number now. A background task
-- (payment-details/index-payees.ts) fills in what is null.
update payment_details set payee_index = null;
