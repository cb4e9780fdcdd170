-- Breaks running code: no
set local lock_timeout = '5s';

-- Tokens that move from a deposit address to the treasury. Its transactions are in evm_sends, with
-- keys that begin with sweep: and the number.
create table evm_sweeps (
  number bigint generated always as identity primary key,
  chain text not null,
  address text not null references evm_addresses (address),
  token text not null,
  contract text not null,
  -- In the token's smallest unit.
  amount numeric not null check (amount > 0),
  -- The same in millionths of a token: the sum of its deposits.
  millionths numeric not null check (millionths > 0),
  method text not null check (method in ('top_up', 'authorization')),
  state text not null check (state in ('open', 'final', 'failed', 'given_up')),
  state_since timestamptz not null,
  created_at timestamptz not null,
  -- The contract takes tokens once for an address and this number; with it, whether they were taken
  -- can be asked.
  authorization_nonce text,
  -- The contract did not accept the authorization: later sweeps of the token use top-ups.
  is_authorization_refused boolean not null default false,
  -- How often native coin was sent to the address to pay for the transfer.
  top_ups integer not null default 0,
  problem text,
  -- An open one is not looked at before.
  retry_at timestamptz,
  check (method = 'top_up' or authorization_nonce is not null)
);
create index evm_sweeps_refused on evm_sweeps (chain, contract) where is_authorization_refused;
-- One at a time: two would count on the same native coin.
create unique index evm_sweeps_open on evm_sweeps (chain, address)
  where state in ('open', 'failed');

-- The sweep that takes it; null: it is still there. A transfer is in one sweep at most.
alter table evm_transfers add column sweep bigint references evm_sweeps (number);
create index evm_transfers_unswept on evm_transfers (chain, address, token)
  where finding is null and sweep is null;
create index evm_transfers_sweep on evm_transfers (sweep) where sweep is not null;
