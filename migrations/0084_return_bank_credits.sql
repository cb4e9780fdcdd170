-- Breaks running code: no
set local lock_timeout = '5s';

-- Deposits that are sent back to their payers, each once per key of the caller.
create table bank_returns (
  key text primary key,
  number bigint generated always as identity unique,
  bank_account text,
  bank_reference text not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  -- sent: it is a payment of a file. by_hand: no file can pay it back, a person does.
  state text not null check (state in ('sent', 'by_hand', 'booked', 'refused')),
  end_to_end_id text unique,
  problem text,
  created_at timestamptz not null,
  check ((end_to_end_id is null) = (problem is not null))
);
create index bank_returns_by_hand on bank_returns (number) where state = 'by_hand';
