-- Breaks running code: no
set local lock_timeout = '5s';

-- What an account owes to all of its users, by chain and token, as of a block of the ledger: the
-- balances of the account are then read without reading those of each user.
create table ledger_owed_sums (
  account_id uuid not null references accounts,
  chain text not null,
  currency text not null,
  amount numeric not null,
  primary key (account_id, chain, currency)
);

alter table ledger_sum_marks add column owed_through_number bigint not null default 0;
