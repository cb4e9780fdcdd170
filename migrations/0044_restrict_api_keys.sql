-- Breaks running code: no.
set local lock_timeout = '5s';

-- Null means not restricted.
alter table api_keys add column scopes text[];
alter table api_keys add column networks text[];
alter table api_keys add column expires_at timestamptz;

-- A table of its own: the row of a key is read by every request.
create table api_key_uses (
  account_id uuid not null,
  api_key_id uuid not null,
  used_at timestamptz not null,
  primary key (account_id, api_key_id),
  foreign key (account_id, api_key_id) references api_keys (account_id, id)
);
