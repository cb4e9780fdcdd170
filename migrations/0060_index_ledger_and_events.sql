-- Breaks running code: yes
set local lock_timeout = '5s';

-- `GET /ledger/entries?kind=`. It begins with the kind so that it never serves the check of a
-- reference.
create index ledger_entries_by_kind on ledger_entries (kind, account_id, id);

-- `GET /webhook_events?event=` reads in the order of positions.
alter table event_positions add column name text;
update event_positions p set name = e.name from events e
  where e.account_id = p.account_id and e.id = p.event_id;
alter table event_positions alter column name set not null;
create index event_positions_by_name on event_positions (account_id, name, position);

-- An export can be removed before its file was written; it then has no digest.
alter table exports drop constraint exports_check1,
  add constraint exports_digest_check
    check (case status when 'pending' then digest is null when 'ready' then digest is not null
      else true end);

-- The sums of ledger lines by day (UTC), so that reading balances does not read all lines. Accounts
-- of one record (`owed:…`) are summed under their name.
create table ledger_day_sums (
  account_id uuid not null references accounts (id),
  day date not null,
  ledger_account text not null,
  currency text not null,
  amount numeric not null,
  primary key (account_id, day, ledger_account, currency)
);

-- The last sealed block of the ledger whose entries are in the sums.
create table ledger_sum_marks (
  account_id uuid primary key references accounts (id),
  through_number bigint not null
);
