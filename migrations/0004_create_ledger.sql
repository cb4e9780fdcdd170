-- Breaks running code: no.
set local lock_timeout = '5s';

-- Double entry, append only. `key` is the business key: what happened can be posted once.
create table ledger_entries (
  account_id uuid not null references accounts,
  id uuid not null,
  key text not null,
  kind text not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);
create unique index ledger_entries_key on ledger_entries (key, account_id);

-- Debits are positive, credits negative; the lines of an entry sum to zero per currency. Amounts
-- are minor units (6 digits for tokens).
create table ledger_lines (
  account_id uuid not null,
  entry_id uuid not null,
  number smallint not null,
  ledger_account text not null,
  currency text not null,
  amount bigint not null check (amount <> 0),
  primary key (account_id, entry_id, number),
  foreign key (account_id, entry_id) references ledger_entries
);
create index ledger_lines_account on ledger_lines (account_id, ledger_account, currency)
  include (amount);

-- Only for accounts that may never fall below zero (in their own natural sign): the database
-- itself refuses it. Derived from the lines; verify recomputes it.
create table ledger_balances (
  account_id uuid not null references accounts,
  ledger_account text not null,
  currency text not null,
  balance bigint not null check (balance >= 0),
  primary key (account_id, ledger_account, currency)
);
