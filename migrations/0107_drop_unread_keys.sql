-- Breaks running code: no
set local lock_timeout = '5s';

-- A payout is found by the parts of its end-to-end id, which are its primary key.
drop index payouts_end_to_end;

-- The event that a position refers to has the same account, and refers to it.
alter table event_positions drop constraint event_positions_account_id_fkey;

-- Written with the entry that it is a note of, which refers to its account; deleted once sealed.
alter table seal_pending drop constraint seal_pending_account_id_fkey;
