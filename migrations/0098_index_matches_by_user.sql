-- Breaks running code: no
set local lock_timeout = '5s';

-- The operator lists the matches of one user, whatever account it is of.
create index screening_matches_by_user on screening_matches (user_id, id);
