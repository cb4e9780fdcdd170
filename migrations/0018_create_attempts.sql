-- Breaks running code: no.
set local lock_timeout = '5s';

-- How often somebody tried a secret (a password, a client's secret, a link) within a minute, for
-- all processes. Callers are keyed hashes: no e-mail or address can be read from them. A row
-- belongs to one caller and one window, so that callers never wait for each other.
create table attempts (
  window_ends_at timestamptz not null,
  caller_hash bytea not null,
  failed integer not null,
  under_way integer not null,
  primary key (window_ends_at, caller_hash),
  check (failed >= 0 and under_way >= 0)
);
