-- Breaks running code: no.
set local lock_timeout = '5s';

alter table apps
  -- Goes up with every change by the owner: whoever is sending then looks again.
  add column webhook_version integer not null default 0,
  -- Counts on from one turn to the next, until a success.
  add column failures_in_a_row integer not null default 0,
  -- The latest failure since the last success.
  add column failed_at timestamptz;
