-- Breaks running code: no
set local lock_timeout = '5s';

-- The onramps that a deposit of about this amount may be for.
create index onramps_unpaid on onramps (fiat_currency, deposit_amount) where status = 'initiated';
