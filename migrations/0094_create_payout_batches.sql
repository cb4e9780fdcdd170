-- Breaks running code: no
set local lock_timeout = '5s';

-- Files of payouts that members upload, until their payouts are created. Names and rows are
-- encrypted with the key of the user who pays.
create table payout_batches (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  status text not null check (status in ('draft', 'creating', 'created')),
  deposit_token text not null,
  deposit_token_chain text not null,
  title bytea not null,
  content bytea not null,
  row_count int not null,
  -- Tells that the same file was uploaded before.
  file_index bytea not null,
  quote_id uuid,
  -- Counts the quotes that were created for it: rates expire.
  attempt int not null,
  version int not null,
  created_by text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id)
);
create index payout_batches_expired on payout_batches (account_id, expires_at);
create index payout_batches_file on payout_batches (file_index, account_id);
