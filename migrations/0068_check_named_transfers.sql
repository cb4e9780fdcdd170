-- Breaks running code: no
set local lock_timeout = '5s';

-- What the chain says about the transfer that a caller named.
alter table quotes add column tx_status text
  check (tx_status in ('unknown', 'pending', 'final', 'failed'));
