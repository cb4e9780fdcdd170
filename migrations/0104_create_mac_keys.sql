-- Breaks running code: no
set local lock_timeout = '5s';

-- The keys of the MACs that rows carry, wrapped by the master key: the database never has one in
-- clear. A rotation adds a version; earlier ones stay, because rows keep their MACs.
create table mac_keys (
  version smallint not null,
  master_key_id text not null,
  wrapped bytea not null,
  created_at timestamptz not null,
  constraint mac_keys_pkey primary key (version),
  constraint mac_keys_version_check check (version between 1 and 255)
);
