-- Breaks running code: no
set local lock_timeout = '5s';

-- Of all columns, with a key that the database does not have. Rows from before have none: one that
-- was not credited yet is read from the chain once more.
alter table evm_transfers add column mac bytea;
alter table evm_transfers drop constraint evm_transfers_finding_check;
alter table evm_transfers add constraint evm_transfers_finding_check check (finding in
  ('other_token', 'other_chain', 'balance_mismatch', 'reorganised', 'vanished', 'unproven'))
  not valid;
alter table evm_transfers validate constraint evm_transfers_finding_check;
