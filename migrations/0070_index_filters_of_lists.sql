-- Filters that match few of many rows.
create index invoice_views_role on invoice_views (account_id, role, id);
create index invoice_views_format on invoice_views (account_id, format, id);
create index invoice_views_created on invoice_views (account_id, creation_date);
create index exports_status on exports (account_id, status, id);
