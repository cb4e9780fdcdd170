-- Breaks running code: no
set local lock_timeout = '5s';

-- How often in a row the lease of a task ended without a result, because its worker stopped or lost
-- the database. A task that ends its process would otherwise do so again after each restart.
alter table tasks add column losses integer not null default 0;
