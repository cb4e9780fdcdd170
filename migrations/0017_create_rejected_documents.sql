-- Breaks running code: no.
set local lock_timeout = '5s';

-- The files that a reviewer has rejected, by offramp: the same file is not taken again.
create table rejected_documents (
  account_id uuid not null,
  offramp_id uuid not null,
  hash bytea not null,
  created_at timestamptz not null,
  primary key (account_id, offramp_id, hash),
  foreign key (account_id, offramp_id) references offramps
);
