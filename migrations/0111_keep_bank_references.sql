-- Breaks running code: no
set local lock_timeout = '5s';

-- The bank's own name of a line. A second credit with it is for a person.
alter table bank_lines add column line_reference text;

create index bank_lines_references on bank_lines (bank_account, line_reference)
  where line_reference is not null and kind in ('incoming', 'returned');

-- What banks took back, and nobody has settled: credits of it can be read later.
create index bank_lines_taken_back on bank_lines (bank_account, amount)
  where kind = 'taken_back' and state = 'unmatched';

-- A debit of an earlier day does not show that a bank has paid it. Null: not known.
alter table bank_payments add column paid_from_day date;

-- Credits that can be the return of an ACH payment are recognised by their amount.
create index bank_payments_ach_amounts on bank_payments (amount) where short_id is not null;
