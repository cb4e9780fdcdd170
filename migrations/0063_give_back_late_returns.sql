-- Breaks running code: no
set local lock_timeout = '5s';

-- What was given back of money that came back after its payout was refunded, and at which rate.
alter table bank_answers
  add column given_back bigint check (given_back >= 0),
  add column refund_rate numeric;
