-- Breaks running code: no
set local lock_timeout = '5s';

-- What callers asked for and how it was answered, for Settings › Developer › Logs. Only a log:
-- written a moment later than the answer, trimmed after days, and nothing is decided by it. The id
-- is the answer's X-Request-Id, which contains the time.
create table requests (
  account_id uuid not null,
  id uuid not null,
  actor text not null,
  method text not null,
  path text not null,
  status smallint not null,
  error_code text,
  problems text,
  duration_ms integer not null,
  constraint requests_pkey primary key (account_id, id)
);
create index requests_refused on requests (account_id, id) where error_code is not null;
