-- Breaks running code: no
set local lock_timeout = '5s';

-- The operator's list is in the order of ids, across accounts, and finds one match by its id: both
-- read and sorted all matches.
create index screening_matches_list on screening_matches (id);
