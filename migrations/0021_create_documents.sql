-- Breaks running code: no.
set local lock_timeout = '5s';

-- Files that were uploaded before their offramps; several offramps may name one.
create table documents (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  -- Version of the stored file, which is sealed with the user's own key.
  file text not null,
  hash bytea not null,
  type text not null,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users
);
alter table offramps add column document_id uuid;
create index offramps_document on offramps (document_id, account_id)
  where document_id is not null;
