-- Breaks running code: yes
set local lock_timeout = '5s';

-- While frozen nothing leaves: of one user, or of all users of an account.
alter table users add column frozen_at timestamptz;
alter table accounts add column frozen_at timestamptz;

-- How much may leave, in cents. The nil id stands for all accounts or all users; the most specific
-- rule of a scope and time window counts.
create table limit_rules (
  account_id uuid not null,
  user_id uuid not null,
  scope text not null check (scope in ('payout', 'user', 'payee', 'account', 'open_quotes')),
  time_window text not null check (time_window in ('single', 'day', '30_days')),
  amount_max bigint check (amount_max >= 0),
  count_max integer check (count_max >= 0),
  created_at timestamptz not null,
  primary key (account_id, user_id, scope, time_window)
);

-- The same bank account has the same index, whichever payment detail names it.
alter table payment_details add column payee_index bytea;

create index quotes_executed on quotes (account_id, executed_at) where executed_at is not null;
