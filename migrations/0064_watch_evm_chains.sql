-- Breaks running code: no
set local lock_timeout = '5s';

-- The child of the wallet's key that an address is. A sequence never returns a number twice, not
-- even after a rollback: an address belongs to one quote for ever.
create sequence evm_address_indexes as bigint minvalue 0 maxvalue 2147483647 no cycle;

create table evm_addresses (
  address text primary key,
  wallet text not null,
  address_index bigint not null check (address_index between 0 and 2147483647),
  -- For which it was issued; the same key exists on every EVM chain.
  chain text not null,
  created_at timestamptz not null,
  unique (wallet, address_index)
);

-- How far each chain was read.
create table evm_chains (
  chain text primary key,
  chain_id bigint not null,
  scanned_block bigint not null,
  scanned_hash text not null,
  scanned_at timestamptz not null,
  final_block bigint not null,
  -- Blocks are read a second time; these are next.
  reread_from bigint not null,
  reread_to bigint not null,
  reread_at timestamptz not null,
  state text not null check (state in
    ('reading', 'current', 'unreachable', 'disagreeing', 'reorganised', 'misconfigured')),
  state_since timestamptz not null,
  problem text
);

-- Final transfers to our addresses. With a finding they are not credited.
create table evm_transfers (
  number bigint generated always as identity primary key,
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  block_number bigint not null,
  block_hash text not null,
  address text not null,
  sender text not null,
  token text not null,
  amount numeric not null check (amount > 0),
  mined_at timestamptz not null,
  finding text check (finding in
    ('other_token', 'other_chain', 'balance_mismatch', 'reorganised')),
  unique (chain, tx_id, log_index, block_hash)
);
create index evm_transfers_creditable on evm_transfers (chain, number) where finding is null;
create index evm_transfers_findings on evm_transfers (number) where finding is not null;
create index evm_transfers_address on evm_transfers (address);
