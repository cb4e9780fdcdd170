-- Breaks running code: no.
set local lock_timeout = '5s';

-- Instead of the index by account and currency: also finds the newest entries of an account.
create index ledger_lines_by_account on ledger_lines (account_id, ledger_account, entry_id)
  include (currency, amount);
drop index ledger_lines_account;
