-- Breaks running code: no
set local lock_timeout = '5s';

-- In Japan the codes of bank and branch before a number, and in New Zealand the suffix after it,
-- name no other payee now. A background task (payment-details/index-payees.ts) fills in what is
-- null.
update payment_details set payee_index = null;
