-- Breaks running code: no.
set local lock_timeout = '5s';

-- What is to happen once two members agree, because it moves more than one pair of eyes may.
create table proposals (
  account_id uuid not null,
  id uuid not null,
  -- The use case that runs it, and the record that it concerns.
  kind text not null,
  record_id uuid not null,
  -- The use case's input and what members look at before they agree. Encrypted with the key of the
  -- person whom it concerns, so that erasing them erases it; with the account's if it is nobody's.
  input bytea not null,
  subject_id uuid,
  -- Null when no rate was at hand.
  amount_usd numeric(24, 2),
  -- One sentence without personal data.
  summary text not null,
  proposed_by text not null,
  -- The member who proposed it, if it was one; an API key is nobody's eyes.
  proposed_by_person uuid,
  status text not null check (status in ('pending', 'confirmed', 'rejected', 'done', 'failed')),
  -- Why it was rejected, or why it failed.
  outcome text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id)
);
create index proposals_list_by_status on proposals (status, account_id, id);

-- The key makes sure that whoever agrees twice counts once.
create table proposal_votes (
  account_id uuid not null,
  proposal_id uuid not null,
  person_id uuid not null,
  verdict text not null check (verdict in ('confirm', 'reject')),
  created_at timestamptz not null,
  primary key (account_id, proposal_id, person_id),
  foreign key (account_id, proposal_id) references proposals
);
