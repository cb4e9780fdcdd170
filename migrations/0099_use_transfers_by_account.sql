-- Breaks running code: no
set local lock_timeout = '5s';

-- Proven: the sender signed that it pays the invoice, so it pays no other of the installation. Else
-- it is a seller's word, which counts among the seller's own invoices.
alter table invoice_transfers add column is_proven boolean not null default true,
  drop constraint invoice_transfers_pkey,
  add primary key (chain, tx_id, log_index, account_id);
create unique index invoice_transfers_proven on invoice_transfers (chain, tx_id, log_index)
  where is_proven;
