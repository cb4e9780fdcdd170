-- Breaks running code: no
set local lock_timeout = '5s';

-- settled: a person has dealt with a line that matched nothing.
alter table bank_lines
  drop constraint bank_lines_state_check,
  drop constraint bank_lines_check1,
  add constraint bank_lines_state_check
    check (state in ('answer', 'credit', 'unmatched', 'settled')),
  add constraint bank_lines_problem_check
    check ((problem is null) = (state in ('answer', 'credit'))),
  add column settled_at timestamptz;

alter table bank_unmatched_statuses
  add column settled_at timestamptz;
create index bank_unmatched_statuses_open on bank_unmatched_statuses (number)
  where settled_at is null;

alter table bank_corrections
  add column settled_at timestamptz;

-- Files of banks that could not be read, by their place in the inbox. The file itself is on disk.
create table bank_set_aside (
  name text primary key,
  digest bytea not null,
  problem text not null,
  since timestamptz not null
);
