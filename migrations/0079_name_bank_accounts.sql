-- Breaks running code: no
set local lock_timeout = '5s';

-- Each of our bank accounts has its own ledger account, `bank:<account>`. Null: from before, when
-- there was one ledger account `bank` for all of them.

-- The account that paid, and the one that the money came back to.
alter table payouts
  add column bank_account text,
  add column returned_to text,
  -- It came back before the bank reported that it was booked.
  add column is_booking_implied boolean not null default false;

-- The account in which the money of the answer moved.
alter table bank_answers add column bank_account text;

-- The ledger account that the money is in.
alter table fiat_deposits add column ledger_account text;
alter table onramps add column deposit_account text;

alter table bank_file_answers
  add column bank_account text,
  add column paid_from text;
update bank_file_answers a
  set paid_from = f.bank_account,
    bank_account = case when a.kind <> 'rejected' then f.bank_account end
  from bank_payments p join bank_files f on f.id = p.file_id
  where p.account_id = a.account_id and p.end_to_end_id = a.end_to_end_id;
