-- Breaks running code: no.
set local lock_timeout = '5s';

-- Who sent a deposit; null where the chain did not say.
alter table deposits add column sender text;
create index deposits_list on deposits (account_id, user_id, id);
alter table sandbox_transfers add column sender text;

-- Quotes by status. What was never executed is open until its expiry, then expired.
create index quotes_list_unclosed on quotes (account_id, user_id, id)
  where executed_at is null and closed_at is null;
create index quotes_list_unexecuted on quotes (account_id, user_id, id)
  where executed_at is null;
create index quotes_list_executed on quotes (account_id, user_id, id)
  where executed_at is not null and closed_at is null;
create index quotes_list_failed on quotes (account_id, user_id, id)
  where executed_at is not null and closed_at is not null;

-- The offramps of the whole account; without a status the primary key serves. The status goes
-- first: an index that begins like the key must not be taken for the check of a reference.
create index offramps_account_list_by_status on offramps (status, account_id, id);

create index refunds_list_by_status on refunds (account_id, user_id, status, id);
create index refund_addresses_list on refund_addresses (account_id, user_id, id);

-- Offramps that were removed from a quote before its execution: their events stay.
create table removed_offramps (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  quote_id uuid not null,
  -- Of the last event.
  sequence integer not null,
  removed_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, quote_id) references quotes
);
