-- Breaks running code: no
set local lock_timeout = '5s';

-- When the worker last ended a set of tasks, or found none due: a heartbeat alone does not show
-- that any work is done. Null: a worker of an earlier version.
alter table worker_heartbeats add column progressed_at timestamptz;
