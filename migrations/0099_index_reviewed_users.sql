-- Breaks running code: no
set local lock_timeout = '5s';

-- Reviewers list users by state: those who wait longest, and those decided on last.
create index users_by_kyc_change on users (account_id, kyc_status, updated_at, id)
  where erased_at is null;
