-- Breaks running code: no
set local lock_timeout = '5s';

-- While a backlog is worked off, a claim takes a share from each account that has due tasks, however
-- many tasks of other accounts became due before (platform/tasks/claim-store.ts). Without the failed
-- ones, as a claim of fresh tasks would read past all of them. No id behind due_at, see tasks_due.
create index tasks_fresh on tasks (kind, account_id, due_at) where attempts = 0;
