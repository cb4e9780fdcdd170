-- Breaks running code: no
set local lock_timeout = '5s';

-- When a second factor was given last in a session; null: never, or before this migration.
alter table sessions add column factor_at timestamptz;
