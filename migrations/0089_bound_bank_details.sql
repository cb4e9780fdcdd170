-- Breaks running code: no
set local lock_timeout = '5s';

-- Names, accounts and texts of a line. None once the line answers payments, which need none of it,
-- and none after the legal period.
alter table bank_lines alter column details drop not null;
update bank_lines set details = null where state = 'answer';
alter table bank_lines add check (details is not null or state <> 'unmatched');
create index bank_lines_detailed on bank_lines (booked_on)
  where details is not null and state <> 'unmatched';
create index bank_corrections_settled on bank_corrections (received_at) where state = 'settled';
