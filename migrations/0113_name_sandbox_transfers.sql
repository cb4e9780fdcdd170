-- Breaks running code: no
set local lock_timeout = '5s';

-- Which request created the transfer: one that failed half-way and is sent again with the same
-- Idempotency-Key creates nothing twice. Null: without a key, and from before.
alter table sandbox_transfers add column request text;
alter table sandbox_wallet_transfers add column request text;
