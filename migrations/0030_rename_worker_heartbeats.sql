-- Breaks running code: yes
set local lock_timeout = '5s';

alter table worker_beats rename to worker_heartbeats;
alter table worker_heartbeats rename column beat_at to seen_at;
alter table payouts rename column chased_at to flagged_at;
alter index worker_beats_pkey rename to worker_heartbeats_pkey;
update tasks set kind = 'flag-unanswered-payouts' where kind = 'chase-payouts';
update tasks set kind = 'sync-counterparty' where kind = 'carry-invoice-changes';
