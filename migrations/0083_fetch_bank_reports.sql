-- Breaks running code: no
set local lock_timeout = '5s';

-- Files of banks' SFTP servers that were fetched, as long as the servers have them.
create table bank_downloads (
  source text not null,
  name text not null,
  size bigint not null,
  -- Seconds, as the server says.
  mtime bigint not null,
  fetched_at timestamptz not null,
  primary key (source, name, size, mtime)
);
