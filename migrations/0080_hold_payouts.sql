-- Breaks running code: no
set local lock_timeout = '5s';

-- While one is open, nothing leaves: no payment, no return, no refund, no delivery, no sweep.
create table payout_holds (
  id uuid primary key,
  -- operator: a person decided it. restore: the database is older than what has left.
  kind text not null check (kind in ('operator', 'restore')),
  reason text not null,
  held_at timestamptz not null,
  -- What the file outside the database had counted.
  file_count bigint,
  released_at timestamptz,
  release_reason text,
  check ((released_at is null) = (release_reason is null))
);
create unique index payout_holds_open on payout_holds (kind) where released_at is null;

-- Counts each time that something leaves, once what leaves is stored. A file outside the database
-- follows it: a database that counts less than the file is an old copy.
create table leaving_counts (
  is_only boolean primary key check (is_only),
  count bigint not null check (count >= 0)
);
insert into leaving_counts (is_only, count) values (true, 0);
