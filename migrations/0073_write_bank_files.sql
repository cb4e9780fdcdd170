-- Breaks running code: no
set local lock_timeout = '5s';

-- One file of payments per account of ours, scheme and window of the bank.
create table bank_files (
  id uuid primary key,
  bank_account text not null,
  scheme text not null check (scheme in ('sepa', 'swift', 'us_wire')),
  window_day date not null,
  window_number integer not null check (window_number >= 1),
  closes_at timestamptz not null,
  execution_date date not null,
  -- open: takes payments. closed: its content is fixed. placing: its bytes are on disk under
  -- `temporary_name`, and are being renamed. written: the bank can take it.
  state text not null check (state in ('open', 'closed', 'placing', 'written')),
  state_since timestamptz not null,
  -- Known to the bank: a file with the same id is refused as a duplicate.
  message_id text not null unique check (length(message_id) between 1 and 35),
  -- As they stand in the file, so that it can be written again to the same bytes.
  created_at timestamptz,
  payments integer check (payments > 0),
  control_sum text,
  temporary_name text,
  digest bytea,
  unique (bank_account, scheme, window_day, window_number),
  check ((state = 'open') = (created_at is null)),
  check ((created_at is null) = (payments is null)),
  check ((created_at is null) = (control_sum is null)),
  check ((state in ('placing', 'written')) = (temporary_name is not null)),
  check ((temporary_name is null) = (digest is null))
);
create index bank_files_unwritten on bank_files (closes_at, id) where state <> 'written';

-- The instructions that a bank gets by file. Each is in one file, forever.
create table bank_payments (
  account_id uuid not null references accounts (id),
  end_to_end_id text not null unique,
  number bigint generated always as identity unique,
  file_id uuid not null references bank_files (id),
  amount bigint not null check (amount > 0),
  currency text not null,
  uetr uuid not null unique,
  -- Payee and message, encrypted; removed when the file is written.
  details bytea,
  primary key (account_id, end_to_end_id)
);
create index bank_payments_of_file on bank_payments (file_id, number);

-- Final answers, in the order in which they are read.
create table bank_file_answers (
  account_id uuid not null references accounts (id),
  bank_reference text not null,
  number bigint generated always as identity unique,
  end_to_end_id text not null,
  kind text not null check (kind in ('booked', 'returned', 'rejected')),
  amount bigint not null,
  currency text not null,
  trace_number text,
  uetr text,
  reason_codes text[] not null,
  primary key (account_id, bank_reference)
);
