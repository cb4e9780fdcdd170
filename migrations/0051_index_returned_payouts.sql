-- Breaks running code: no
set local lock_timeout = '5s';

-- What banks did not return of a payout still counts for the payee.
create index payouts_returned on payouts (payment_detail_id, account_id) where status = 'returned';
