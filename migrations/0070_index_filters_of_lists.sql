-- Breaks running code: no
set local lock_timeout = '5s';

-- Filters that match few of many rows. The conditions exclude no row: with them, the check of a
-- reference to invoice_views cannot use these indexes (it would read all rows of an account).
create index invoice_views_role on invoice_views (account_id, role, id) where role is not null;
create index invoice_views_format on invoice_views (account_id, format, id)
  where format is not null;
create index invoice_views_created on invoice_views (account_id, creation_date)
  where creation_date is not null;
create index exports_status on exports (account_id, status, id);
