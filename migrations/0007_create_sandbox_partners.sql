-- Breaks running code: no.
set local lock_timeout = '5s';

-- What the sandbox's own bank and chain remember. They stand for somebody else's systems, so
-- nothing of ours refers to them.
create table sandbox_bank_payouts (
  end_to_end_id text primary key,
  account_id uuid not null,
  amount bigint not null,
  currency text not null,
  outcome text not null
);
create table sandbox_bank_answers (
  number bigint generated always as identity primary key,
  end_to_end_id text not null,
  account_id uuid not null,
  bank_reference text not null unique,
  kind text not null,
  amount bigint not null,
  currency text not null
);
create table sandbox_transfers (
  number bigint generated always as identity primary key,
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  address text not null,
  token text not null,
  amount bigint not null,
  mined_at timestamptz not null,
  unique (chain, tx_id, log_index)
);
create table sandbox_sends (
  key text primary key,
  tx_id text not null
);
