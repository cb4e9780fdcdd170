-- Breaks running code: no.
set local lock_timeout = '5s';

-- For the metrics: what is not yet over, by state and age. Finished records are in none of them,
-- so that they stay small however many payouts there have been.
create index payouts_open on payouts (status, created_at)
  where status in ('recorded', 'submitting', 'sent');
create index offramps_open on offramps (status, created_at)
  where status in ('pending_internal_assessment', 'ongoing_checks', 'sending_fiat');
create index webhook_deliveries_failed on webhook_deliveries (updated_at) where status = 'failed';
