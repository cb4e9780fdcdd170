-- Breaks running code: no.
set local lock_timeout = '5s';

-- The W3C trace of the request that caused the event, where one did: its webhooks carry it on.
alter table events add column trace_id uuid;
