-- Breaks running code: no
set local lock_timeout = '5s';

-- Where a transaction is of one account, the operator's decision on a bank exception is three: the
-- decision, in the operator's account, until it is closed; its outcome, with its effects, in the
-- account of the exception; the end of the decision.
create table exception_decisions (
  account_id uuid not null,
  id uuid not null,
  exception_account_id uuid not null,
  command text not null,
  created_at timestamptz not null,
  mac bytea not null,
  primary key (account_id, id)
);
create table exception_outcomes (
  account_id uuid not null,
  id uuid not null,
  result text not null,
  created_at timestamptz not null,
  mac bytea not null,
  primary key (account_id, id)
);
