-- Breaks running code: no.
set local lock_timeout = '5s';

-- Which transfer the invoice shows, of the transaction that it claims: only those that show a
-- transfer are checked again when it pays another invoice. -1 where that is not known.
alter table invoice_claims add column log_index int;
update invoice_claims set log_index = -1;
