-- Breaks running code: yes.
set local lock_timeout = '5s';

-- Answers of the bank that contradict what we know wait in the operator's list, by id.
alter table bank_answers add column id uuid not null default gen_random_uuid();
create index bank_answers_exceptions on bank_answers (id) where outcome <> 'applied';
