-- Breaks running code: no
set local lock_timeout = '5s';

-- A line was in two indexes with all of its keys. The key has the order of the lists of one ledger
-- account now, with what their sums need; an entry finds its lines in a short index that names the
-- entry once for all of them. That `number` counts the lines of an entry is checked by `verify`.
alter table ledger_lines drop constraint ledger_lines_pkey;
create index ledger_lines_entry on ledger_lines (account_id, entry_id);
alter table ledger_lines add primary key (account_id, ledger_account, entry_id, number)
  include (currency, amount);
drop index ledger_lines_by_account;
