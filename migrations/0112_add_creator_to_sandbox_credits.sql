-- Breaks running code: no
set local lock_timeout = '5s';

-- All accounts share the sandbox's bank: who repeats a reference sees the deposit only if it is
-- their own. Null: from before.
alter table sandbox_bank_credits add column created_by uuid;
