-- Breaks running code: no
set local lock_timeout = '5s';

-- Statements of our accounts with their balances: one row for each page and currency. Amounts are
-- signed: a debit balance and a debit line are negative.
create table bank_statements (
  number bigint generated always as identity primary key,
  report_digest bytea not null references bank_reports (digest),
  bank_account text not null,
  statement_id text,
  sequence text,
  page text,
  is_last_page boolean,
  currency text not null,
  opening bigint,
  opened_on date,
  closing bigint,
  closed_on date,
  entries integer not null check (entries >= 0),
  -- Of all columns and lines, with a key that the database does not have.
  mac bytea not null
);
create index bank_statements_of_account on bank_statements (bank_account, number);
create index bank_statements_of_report on bank_statements (report_digest);

-- The booked lines of a statement. The key is that of `bank_lines`.
create table bank_statement_entries (
  statement_number bigint not null references bank_statements (number),
  place integer not null check (place >= 0),
  entry_key text not null,
  amount bigint not null,
  booked_on date,
  primary key (statement_number, place)
);
create index bank_statement_entries_keys on bank_statement_entries (entry_key);

alter table bank_lines
  -- The references of the answers or the deposit that the line became.
  add column answer_references text[] not null default '{}',
  -- treasury: the operator booked it, such as a fee or its own transfer.
  drop constraint bank_lines_state_check,
  add constraint bank_lines_state_check
    check (state in ('answer', 'credit', 'unmatched', 'settled', 'treasury'));
update bank_lines set answer_references = array[entry_key || '-' || part] where state = 'credit';
update bank_lines l set answer_references = array(
    select a.bank_reference from bank_file_answers a
    where starts_with(a.bank_reference, l.entry_key || '-' || l.part) order by a.number)
  where l.state = 'answer';

-- kept: it was the operator's own money.
alter table fiat_deposits
  drop constraint fiat_deposits_status_check,
  add constraint fiat_deposits_status_check check (status in ('unmatched', 'matching', 'matched',
    'releasing', 'returning', 'returned', 'dismissed', 'kept'));

-- The last comparison of the ledger with the closing balance of an account.
create table bank_reconciliations (
  bank_account text not null,
  currency text not null,
  closed_on date not null,
  -- What the ledger had then.
  balance numeric not null,
  difference numeric not null,
  is_tampered boolean not null,
  at timestamptz not null,
  primary key (bank_account, currency)
);
