-- Breaks running code: no
set local lock_timeout = '5s';

-- Whether the sender of a transfer on chain signed for the invoice that it paid. Without that a
-- seller of another account may have confirmed it, which does not count against a signature. Of
-- earlier ones it is not known: they stay where they are.
alter table invoice_transfers add column is_proven boolean not null default true;
