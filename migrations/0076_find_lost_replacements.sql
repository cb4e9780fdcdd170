-- Breaks running code: no
set local lock_timeout = '5s';

-- The final block when the send got its nonce: its transactions are in later blocks only. Null for
-- sends that were planned before this column existed.
alter table evm_sends add column planned_block bigint;
