-- Breaks running code: no
set local lock_timeout = '5s';

-- The dashboard's lists of an account, by state.
create index onramps_by_status on onramps (status, account_id, id);
create index payment_details_by_status on payment_details (status, account_id, id);
create index quotes_by_stage on quotes (deposit_token, account_id, (case
  when executed_at is not null and closed_at is not null then 'failed'
  when executed_at is not null then 'executed'
  when closed_at is not null then 'expired'
  else 'open' end), id);
create index quotes_of_user_by_stage on quotes (user_id, account_id, (case
  when executed_at is not null and closed_at is not null then 'failed'
  when executed_at is not null then 'executed'
  when closed_at is not null then 'expired'
  else 'open' end), deposit_token, id);
