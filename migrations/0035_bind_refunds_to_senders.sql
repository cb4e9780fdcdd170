-- Breaks running code: yes.
set local lock_timeout = '5s';

-- A refund may go back to where tokens came from, at most what came from there: the keyed hash of
-- the address makes what went back countable.
alter table refunds
  add column address_index bytea,
  add column network_fee bigint not null default 0
    check (network_fee >= 0 and network_fee < amount);
create index refunds_address on refunds (account_id, user_id, address_index);
create index deposits_sender on deposits (account_id, user_id, sender);
