-- Breaks running code: no
set local lock_timeout = '5s';

-- Payouts that the bank has not answered in time, and transactions that are not final.
create index payouts_flagged on payouts (account_id, flagged_at)
  where flagged_at is not null and status in ('submitting', 'sent');
