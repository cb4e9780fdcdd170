-- Breaks running code: yes, answers that it writes have no MAC.
set local lock_timeout = '5s';

-- Of all columns, with a key that the database does not have. Rows from before have none.
alter table bank_file_answers
  add column mac bytea,
  -- It was passed over: somebody else than Sliproad wrote or changed it.
  add column is_unproven boolean not null default false;
create index bank_file_answers_unproven on bank_file_answers (number) where is_unproven;
