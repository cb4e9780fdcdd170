-- Breaks running code: no
set local lock_timeout = '5s';

-- The banks' files that were read to their end. The same bytes again are the same report.
create table bank_reports (
  digest bytea primary key,
  name text not null,
  read_at timestamptz not null
);

-- Rejections that no payment of ours can be found for, or that do not tell whether it was paid.
create table bank_unmatched_statuses (
  report_digest bytea not null references bank_reports (digest),
  number bigint generated always as identity primary key,
  level text not null check (level in ('file', 'batch', 'payment')),
  status text not null,
  message_id text,
  batch_id text,
  end_to_end_id text,
  reason_codes text[] not null,
  problem text not null
);
create index bank_unmatched_statuses_of_report on bank_unmatched_statuses (report_digest);

-- Booked lines of our accounts, in parts. The key is the same in every file that has the line.
create table bank_lines (
  bank_account text not null,
  entry_key text not null,
  part integer not null check (part >= 0),
  parts integer not null check (parts > part),
  number bigint generated always as identity unique,
  report_digest bytea not null references bank_reports (digest),
  kind text not null check (kind in ('booked', 'returned', 'incoming', 'taken_back', 'charge')),
  amount bigint not null check (amount >= 0),
  currency text not null,
  booked_on date,
  -- answer: it answers payments of ours. credit: it is money that somebody paid in. unmatched: a
  -- person has to decide.
  state text not null check (state in ('answer', 'credit', 'unmatched')),
  problem text,
  -- Names, accounts and texts, encrypted with the operator's key.
  details bytea not null,
  primary key (bank_account, entry_key, part),
  check ((problem is null) = (state <> 'unmatched'))
);
create index bank_lines_of_report on bank_lines (report_digest);
create index bank_lines_credits on bank_lines (number) where state = 'credit';
create index bank_lines_unmatched on bank_lines (number) where state = 'unmatched';
