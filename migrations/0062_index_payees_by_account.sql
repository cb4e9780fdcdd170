-- Breaks running code: no
set local lock_timeout = '5s';

-- The number of an account is taken from IBANs with national check digits now. A background task
-- (payment-details/index-payees.ts) fills in what is null.
update payment_details set payee_index = null;
