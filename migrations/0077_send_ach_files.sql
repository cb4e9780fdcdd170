-- Breaks running code: no
set local lock_timeout = '5s';

alter table bank_files
  drop constraint bank_files_scheme_check,
  add constraint bank_files_scheme_check check (scheme in ('sepa', 'swift', 'us_wire', 'ach')),
  -- Tells the NACHA files of a day apart.
  add column modifier text check (modifier ~ '^[A-Z0-9]$'),
  -- Counts how often the content was fixed, since a payment can be stopped until bytes are written.
  add column revision integer not null default 0;

alter table bank_payments
  -- Of NACHA files: PPD pays persons, CCD companies. Batch and trace are numbered when the file
  -- closes. A trace comes back in returns; there are ten million of them for each bank.
  add column entry_class text check (entry_class in ('PPD', 'CCD')),
  add column short_id text unique,
  add column batch_number integer,
  add column trace_number text,
  add unique (file_id, trace_number),
  add check ((entry_class is null) = (short_id is null));
create index bank_payments_traces on bank_payments (trace_number) where trace_number is not null;

-- The last trace that was given to an entry, by the bank that originates it.
create table bank_traces (
  originating_bank text primary key,
  last_sequence integer not null check (last_sequence between 0 and 9999999)
);

create table bank_ach_batches (
  file_id uuid not null references bank_files (id) on delete cascade,
  number integer not null check (number >= 1),
  entry_class text not null check (entry_class in ('PPD', 'CCD')),
  -- The trace of the debit that balances the batch.
  offset_sequence integer,
  payments integer not null check (payments > 0),
  amount bigint not null check (amount > 0),
  primary key (file_id, number)
);

-- What payees' banks say is right. A suggestion: nothing is changed by it.
create table bank_corrections (
  account_id uuid not null,
  number bigint generated always as identity unique,
  end_to_end_id text not null,
  report_digest bytea not null references bank_reports (digest),
  code text not null,
  received_at timestamptz not null,
  -- The corrected data, encrypted with the account's key.
  details bytea not null,
  -- open: the operator has not looked at it yet.
  state text not null check (state in ('open', 'settled')),
  primary key (account_id, end_to_end_id, code),
  foreign key (account_id, end_to_end_id) references bank_payments (account_id, end_to_end_id)
);
create index bank_corrections_open on bank_corrections (number) where state = 'open';
create index bank_corrections_of_report on bank_corrections (report_digest);

alter table bank_unmatched_statuses
  add column amount bigint,
  add column trace_number text;
