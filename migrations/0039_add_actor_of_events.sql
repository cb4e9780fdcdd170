-- Breaks running code: no. Events from before have no actor.
set local lock_timeout = '5s';

alter table events add column actor text;

-- One page per record: what people did about it.
create index audit_entries_record on audit_entries (account_id, record, id);
create index proposals_record on proposals (record_id, account_id, id);
