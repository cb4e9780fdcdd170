-- Breaks running code: no
set local lock_timeout = '5s';

-- In Australia, Canada, Hong Kong and Peru the codes of bank and branch before a number name no
-- other payee now. A background task (payment-details/index-payees.ts) fills in what is null.
update payment_details set payee_index = null;
