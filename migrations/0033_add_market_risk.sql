-- Breaks running code: yes, until it is restarted: it writes prices without their spreads.
set local lock_timeout = '5s';

alter table price_versions
  add column spreads jsonb not null default '{}',
  add column stopped jsonb not null default '{"offramps": [], "onramps": []}',
  add column expires_at timestamptz;
alter table price_versions
  alter column spreads drop default,
  alter column stopped drop default;
-- Rates from before are too old at once: each process reads its source when it starts.
update price_versions set expires_at = as_of;

-- The sum of an account's `fx_position` up to an entry, so that reading the exposure does not read
-- all entries again.
create table exposure_checkpoints (
  account_id uuid not null references accounts (id),
  currency text not null,
  amount numeric not null,
  through_id uuid not null,
  primary key (account_id, currency)
);
