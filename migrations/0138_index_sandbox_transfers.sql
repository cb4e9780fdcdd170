-- Breaks running code: no
set local lock_timeout = '5s';

-- Anybody may name a transaction of the sandbox, and an address, any number of times.
create index sandbox_transfers_address on sandbox_transfers (address, tx_id, chain);
create index sandbox_transfers_request on sandbox_transfers (request) where request is not null;
