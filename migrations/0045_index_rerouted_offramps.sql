-- Breaks running code: no
set local lock_timeout = '5s';

-- A payee's payouts of a time window, and the re-routed ones, which count from a later time.
drop index offramps_payment_detail;
create index offramps_payment_detail on offramps (payment_detail_id, account_id, id);
create index offramps_rerouted on offramps (payment_detail_id, account_id) where attempt > 1;
