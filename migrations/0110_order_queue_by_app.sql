-- Breaks running code: no
set local lock_timeout = '5s';

-- Several applications can wait for the same record. Each reads its own entries only: with the
-- sequence alone, a page cost the product of what waits for both. The hash keeps the index as
-- small as it was, and out of reach for statements that name an application but no record.
drop index webhook_queue_order;
create index webhook_queue_order on webhook_queue (record_id, uuid_hash(app_id), sequence)
  where sequence >= 0;
