-- Breaks running code: no
set local lock_timeout = '5s';

-- What is past its retention and was written to a file outside of the database: the files of an
-- account and table are numbered, and each names the digest of the one before it.
create table archives (
  account_id uuid not null references accounts,
  table_name text not null check (table_name in ('events', 'webhook_deliveries')),
  number bigint not null check (number > 0),
  name text not null,
  first_id uuid not null,
  last_id uuid not null,
  row_count integer not null check (row_count > 0),
  sha256 bytea not null,
  previous bytea check ((previous is null) = (number = 1)),
  created_at timestamptz not null,
  mac bytea not null,
  primary key (account_id, table_name, number)
);
