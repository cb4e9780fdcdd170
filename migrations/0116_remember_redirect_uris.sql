-- Breaks running code: no
set local lock_timeout = '5s';

-- Where the person was told to be sent to: a remembered consent counts only for that address. Null
-- for consents given before, which are asked for again.
alter table app_grants add column redirect_uri text;
