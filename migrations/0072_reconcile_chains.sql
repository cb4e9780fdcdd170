-- Breaks running code: no
set local lock_timeout = '5s';

-- The gas of a final transaction is booked once.
alter table evm_sends add column is_gas_booked boolean not null default false;
create index evm_sends_unbooked on evm_sends (number)
  where gas_cost is not null and not is_gas_booked;

-- The last comparison of the ledger with the balances on a chain.
create table chain_reconciliations (
  chain text not null,
  currency text not null,
  block_number bigint not null,
  unexplained numeric not null,
  at timestamptz not null,
  primary key (chain, currency)
);
