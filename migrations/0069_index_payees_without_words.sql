-- Breaks running code: no
set local lock_timeout = '5s';

-- Letters before and after an account number, such as a currency, name no other account now. A
-- background task (payment-details/index-payees.ts) fills in what is null.
update payment_details set payee_index = null;
