-- Breaks running code: no
set local lock_timeout = '5s';

-- A user may have had any number of links; a new one replaces those that have not ended.
create index kyc_sessions_open on kyc_sessions (user_id, account_id) where ended_at is null;
