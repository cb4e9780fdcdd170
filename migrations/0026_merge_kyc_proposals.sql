-- Breaks running code: yes.
set local lock_timeout = '5s';

-- Decisions on a user's identity that need two people are proposals like all others. Nobody has
-- used them yet: open ones are not carried over, reviewers decide again.
drop table kyc_proposals;

-- Who votes: the account's members, or those who review its users: the operator's members, and
-- the account's own where that is delegated.
alter table proposals
  add column voters text not null default 'members' check (voters in ('members', 'reviewers'));
alter table proposals alter column voters drop default;

-- `void`: what it was about has changed before two people agreed.
alter table proposals drop constraint proposals_status_check;
alter table proposals add constraint proposals_status_check
  check (status in ('pending', 'confirmed', 'rejected', 'void', 'done', 'failed'));

-- A user's identity has one decision at a time.
create unique index proposals_pending_decision on proposals (account_id, record_id)
  where kind = 'decide-kyc' and status = 'pending';
create index proposals_pending_reviews on proposals (id)
  where voters = 'reviewers' and status = 'pending';

-- The account whose member voted: a reviewer may belong to the operator's.
alter table proposal_votes add column voter_account_id uuid;
update proposal_votes set voter_account_id = account_id;
alter table proposal_votes alter column voter_account_id set not null;
