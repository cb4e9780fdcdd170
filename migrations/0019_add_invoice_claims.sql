-- Breaks running code: no.
set local lock_timeout = '5s';

-- Transfers on chain that were found to pay the invoice, encrypted with the account's key.
alter table invoices add column tracked bytea;

-- Transfers that buyers say have paid an invoice, until the chain has decided.
create table invoice_claims (
  account_id uuid not null,
  invoice_id uuid not null,
  chain text not null,
  tx_id text not null,
  expires_at timestamptz not null,
  primary key (account_id, invoice_id),
  foreign key (account_id, invoice_id) references invoices
);
create index invoice_claims_transaction on invoice_claims (chain, tx_id);

-- Global look-up: a transfer pays one invoice of the installation.
create table invoice_transfers (
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  account_id uuid not null,
  invoice_id uuid not null,
  primary key (chain, tx_id, log_index),
  foreign key (account_id, invoice_id) references invoices
);

-- Transfers between addresses that are not ours, on the sandbox's chain.
create table sandbox_wallet_transfers (
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  sender text not null,
  recipient text not null,
  token text not null,
  amount bigint not null,
  mined_at timestamptz not null,
  primary key (chain, tx_id, log_index)
);
