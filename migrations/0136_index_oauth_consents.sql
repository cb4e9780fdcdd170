-- Breaks running code: no
set local lock_timeout = '5s';

-- Each use of a token looks for its consent: among all tokens of that consent, of which a refresh
-- adds two.
create index oauth_artifacts_of_consent on oauth_artifacts (grant_id) where model = 'Grant';
