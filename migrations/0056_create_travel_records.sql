-- Breaks running code: no
set local lock_timeout = '5s';

-- Who sent tokens to whom: one row for each onramp delivery and each refund above the set amount,
-- written in the transaction that lets the tokens go. `content` is encrypted with the user's key.
create table travel_records (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  kind text not null check (kind in ('onramp', 'refund')),
  record_id uuid not null,
  token text not null,
  chain text not null,
  amount bigint not null check (amount > 0),
  amount_usd bigint not null check (amount_usd >= 0),
  status text not null check (status in ('complete', 'incomplete')),
  missing text[] not null,
  content bytea not null,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id)
);
create unique index travel_records_transfer on travel_records (account_id, record_id);
create index travel_records_list on travel_records (account_id, user_id, id);
create index travel_records_list_by_status on travel_records (account_id, status, id);
