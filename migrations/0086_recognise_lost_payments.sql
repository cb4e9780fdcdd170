-- Breaks running code: no
set local lock_timeout = '5s';

-- What a line without a payment of ours names: after a restore, a payment that left later is
-- recognised by it.
alter table bank_lines add column named_ids text[];
create index bank_lines_named on bank_lines using gin (named_ids) where named_ids is not null;
create index bank_file_answers_of_payment on bank_file_answers (end_to_end_id);
