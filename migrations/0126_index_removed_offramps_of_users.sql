-- Breaks running code: no
set local lock_timeout = '5s';

-- An erasure clears what receivers answered to events of removed payouts, too: each erasure read
-- all removed payouts of the account.
create index removed_offramps_list on removed_offramps (user_id, account_id, id);
