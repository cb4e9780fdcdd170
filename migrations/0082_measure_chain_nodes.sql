-- Breaks running code: no
set local lock_timeout = '5s';

-- The longest time that a node of the chain took to answer, in milliseconds, since the run before.
alter table evm_chains add column answer_ms integer not null default 0;
