-- Breaks running code: no.
set local lock_timeout = '5s';

-- The lists in use, and how far everybody has been screened against them. No version: screening is
-- off.
create table screening_state (
  id boolean primary key default true check (id),
  version text,
  entries integer not null,
  files jsonb not null,
  problem text,
  activated_at timestamptz,
  people_count bigint not null,
  done_count bigint not null,
  cursor_account_id uuid,
  cursor_user_id uuid,
  finished_at timestamptz
);

-- Null: not screened since the data last changed. While it is not clear, nothing leaves.
alter table users
  add column screening_version text,
  add column screening_status text not null default 'clear'
    check (screening_status in ('clear', 'possible_match', 'match', 'confirmed')),
  add column screening_held_at timestamptz;

alter table payment_details add column screening_version text;

-- What people and list entries were found to be like. The details (both sides, as they were
-- compared) are encrypted with the user's key.
create table screening_matches (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  record_kind text not null check (record_kind in ('user', 'payment_detail')),
  record_id uuid not null,
  list text not null,
  entry_id text not null,
  entry_digest text not null,
  person_digest bytea not null,
  verdict text not null check (verdict in ('possible_match', 'match')),
  score numeric(4, 3) not null,
  status text not null check (status in ('open', 'cleared', 'confirmed', 'closed')),
  details bytea not null,
  decided_by text,
  decided_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id)
);
create unique index screening_matches_pair on screening_matches
  (account_id, record_id, list, entry_id, entry_digest, person_digest);
create index screening_matches_status on screening_matches (status, id);
create index screening_matches_user on screening_matches (account_id, user_id);
