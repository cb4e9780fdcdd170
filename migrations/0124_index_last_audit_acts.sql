-- Breaks running code: no
set local lock_timeout = '5s';

-- The last act of a kind about a record: whether a user is frozen is asked before each payout, and
-- most users never were. Through audit_entries_record all entries about the user were read, one for
-- each change of their data.
create index audit_entries_acts on audit_entries (account_id, record, action, id);
