-- Breaks running code: yes: earlier versions let a person vote at once after a reset
set local lock_timeout = '5s';

-- Who had their second factor removed waits before they vote, in whichever account: kept with the
-- person, so that no transaction has to change the members of several accounts. Waits that have
-- begun stay with the members.
alter table people add column factor_reset_at timestamptz;
