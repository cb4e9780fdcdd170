-- Breaks running code: no
set local lock_timeout = '5s';

-- A transfer of a final block that was replaced may not be on the chain any more.
alter table evm_transfers drop constraint evm_transfers_finding_check;
alter table evm_transfers add constraint evm_transfers_finding_check check (finding in
  ('other_token', 'other_chain', 'balance_mismatch', 'reorganised', 'vanished')) not valid;
alter table evm_transfers validate constraint evm_transfers_finding_check;
create index evm_transfers_block on evm_transfers (chain, block_number);
