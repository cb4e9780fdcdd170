-- Breaks running code: no
set local lock_timeout = '5s';

-- Events of payouts move into files as a whole, except the last one of each.
alter table archives drop constraint archives_table_name_check, add constraint
  archives_table_name_check
  check (table_name in ('events', 'webhook_deliveries', 'event_rows'));
