-- Breaks running code: no
set local lock_timeout = '5s';

-- What the operator did in an account, until a task has noted it in the operator's audit log: where
-- a transaction is of one account, the act and that note are two.
create table operator_acts (
  account_id uuid not null,
  id uuid not null,
  operator_id uuid not null,
  entry text not null,
  created_at timestamptz not null,
  mac bytea not null,
  primary key (account_id, id)
);
