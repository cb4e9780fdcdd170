-- Breaks running code: no
set local lock_timeout = '5s';

-- When the statistics have seen an emptied queue, the planner takes the smaller index, even for
-- statements that name no record, and reads all of it. With a predicate, which is true for every
-- entry, the index serves only the statements that repeat it (`sameRecord`).
drop index webhook_queue_order;
create index webhook_queue_order on webhook_queue (record_id, sequence) where sequence >= 0;
