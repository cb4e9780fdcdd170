-- Breaks running code: no
set local lock_timeout = '5s';

-- Failed tasks are claimed one by one, each the next account's, as fresh ones are through
-- `tasks_fresh` (0122): until now the oldest came first, so that those of one account that fail
-- again and again were tried before the failed tasks of all others.
create index tasks_failed_in_turn on tasks (kind, account_id, due_at, created_at)
  where attempts > 0;
