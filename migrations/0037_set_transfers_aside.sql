-- Breaks running code: no.
set local lock_timeout = '5s';

-- Transfers that no user can be credited with. Each also stands in the operator's list, which is
-- `fiat_deposits`; here it is what the chain reported, with amounts of any size.
create table set_aside_transfers (
  account_id uuid not null,
  id uuid not null,
  quote_id uuid not null,
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  sender text,
  token text not null,
  amount numeric not null check (amount > 0),
  mined_at timestamptz not null,
  reason text not null check (reason in ('not_creditable', 'erased_user')),
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, quote_id) references quotes
);
create unique index set_aside_transfers_transfer
  on set_aside_transfers (account_id, chain, tx_id, log_index);
