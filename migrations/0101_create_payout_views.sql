-- Breaks running code: no
set local lock_timeout = '5s';

-- Combinations of filters of the list of payouts that a member saved under a name.
create table payout_views (
  account_id uuid not null,
  person_id uuid not null,
  name text not null check (char_length(name) between 1 and 60),
  search text not null check (char_length(search) between 1 and 1000),
  created_at timestamptz not null,
  primary key (account_id, person_id, name),
  foreign key (account_id, person_id) references members on delete cascade
);
