-- Breaks running code: no
set local lock_timeout = '5s';

-- Who changed an invoice for the account that does not own it, sealed: the task that tells that
-- account writes it into that account's audit log.
alter table invoice_changes add column acted_by bytea;
