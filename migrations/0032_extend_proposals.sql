-- Breaks running code: yes
set local lock_timeout = '5s';

-- `with_operator`: two members, at least one of them the operator's.
alter table proposals drop constraint proposals_voters_check;
alter table proposals add constraint proposals_voters_check
  check (voters in ('members', 'with_operator', 'reviewers'));
drop index proposals_pending_reviews;
create index proposals_pending_elsewhere on proposals (id)
  where voters <> 'members' and status = 'pending';

-- `lapsed`: not confirmed within the time for votes.
alter table proposals drop constraint proposals_status_check;
alter table proposals add constraint proposals_status_check
  check (status in ('pending', 'confirmed', 'rejected', 'void', 'lapsed', 'done', 'failed'));

-- A new member votes from this time on; null: at once.
alter table members add column votes_from timestamptz;

-- The member who created the key counts as the proposer of what it requests.
alter table api_keys add column created_by_person uuid references people;
