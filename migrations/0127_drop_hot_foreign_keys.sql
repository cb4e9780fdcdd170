-- Breaks running code: no
set local lock_timeout = '5s';

-- Each cost a lookup and a lock of the parent's row for every row written, a dozen times a payout.
-- No parent is ever deleted without these; `verify` reports a row without one (decision 41).
alter table ledger_entries drop constraint ledger_entries_account_id_fkey;
alter table ledger_lines drop constraint ledger_lines_account_id_entry_id_fkey;
alter table ledger_balances drop constraint ledger_balances_account_id_fkey;
alter table events drop constraint events_account_id_fkey;
alter table event_positions drop constraint event_positions_account_id_event_id_fkey;
alter table payouts drop constraint payouts_account_id_offramp_id_fkey;
alter table bank_answers drop constraint bank_answers_account_id_fkey;
alter table tasks drop constraint tasks_account_id_fkey;
alter table webhook_deliveries drop constraint webhook_deliveries_account_id_app_id_fkey;
