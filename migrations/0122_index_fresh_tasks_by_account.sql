-- Breaks running code: no
set local lock_timeout = '5s';

-- While a backlog is worked off, a claim takes a share from each account that has due tasks,
-- however many tasks of others became due before (platform/tasks/claim-store.ts). Failed tasks are
-- claimed apart; with them, a claim of fresh ones would read past all of them. The claim also
-- orders by created_at, which the planner can do with this index only: through tasks_due it could
-- read a whole backlog for the tasks of one account. Why no id behind due_at: see tasks_due.
create index tasks_fresh on tasks (kind, account_id, due_at, created_at) where attempts = 0;
