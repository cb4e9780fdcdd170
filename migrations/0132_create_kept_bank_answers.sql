-- Breaks running code: no
set local lock_timeout = '5s';

-- Answers of the bank that could not be applied to an account yet, in the bank's order: the reader
-- goes on with those of others, and a task of the account tries them again.
create table kept_bank_answers (
  account_id uuid not null,
  place bigint not null check (place > 0),
  bank_reference text not null,
  answer text not null,
  kept_at timestamptz not null,
  mac bytea not null,
  primary key (account_id, place),
  unique (account_id, bank_reference)
);
create index kept_bank_answers_by_time on kept_bank_answers (kept_at);
