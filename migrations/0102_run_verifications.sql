-- Breaks running code: no
set local lock_timeout = '5s';

-- A check of all books that a member of the operator started, until it has ended: at most one. Its
-- task does the work; the row says how far it is. The result is a row of `verifications`.
create table running_verifications (
  account_id uuid not null,
  requested_by text not null,
  requested_at timestamptz not null,
  accounts_done integer not null default 0,
  accounts integer not null default 0,
  pages integer not null default 0,
  updated_at timestamptz not null,
  constraint running_verifications_pkey primary key (account_id)
);
