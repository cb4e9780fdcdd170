-- Breaks running code: yes
set local lock_timeout = '5s';

-- The sum of an account's `fx_position` up to a sealed block: the place in the chain shows exactly
-- which entries are in it. The task fills it again from the first block.
drop table exposure_checkpoints;
create table exposure_checkpoints (
  account_id uuid not null references accounts (id),
  currency text not null,
  amount numeric not null,
  through_number bigint not null,
  primary key (account_id, currency)
);
