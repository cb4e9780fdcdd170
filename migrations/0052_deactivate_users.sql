-- Breaks running code: no
set local lock_timeout = '5s';

-- Since when nothing new is started for the user: its erasure was requested, but something must be
-- kept for now.
alter table users
  add column deactivated_at timestamptz;
