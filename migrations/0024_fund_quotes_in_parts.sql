-- Breaks running code: no.
set local lock_timeout = '5s';

-- What `fund` set aside of the user's balance for a quote that is not funded yet.
alter table quotes add column from_balance bigint not null default 0
  constraint quotes_from_balance_check check (from_balance >= 0);

-- The quotes that wait for the rest of their deposit: what they have leaves by no other door.
create index quotes_waiting on quotes (account_id, user_id)
  where executed_at is not null and funded_at is null and closed_at is null;
