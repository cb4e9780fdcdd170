-- Breaks running code: no.
set local lock_timeout = '5s';

-- Two different members must agree on a decision; and who reviews: the operator's members always,
-- the account's own where it was delegated to them.
alter table accounts add column kyc_four_eyes boolean not null default false;
alter table accounts add column kyc_review_by_account boolean not null default false;

-- A link to the page on which a person proves who they are. The latest of a user counts.
create table kyc_sessions (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  -- The command that made it: its stored answer holds the link and goes when the session ends.
  command_id uuid not null,
  created_at timestamptz not null,
  -- Business time.
  expires_at timestamptz not null,
  ended_at timestamptz,
  end_reason text check (end_reason in ('replaced', 'expired')),
  wrong_birth_dates integer not null default 0,
  -- Keyed hash of the birth date that the account had given when the link was made; null: none.
  birth_date_hash bytea,
  -- From the submission on the link shows what came of it, and changes nothing.
  read_only_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users,
  check ((ended_at is null) = (end_reason is null))
);
create index kyc_sessions_user on kyc_sessions (user_id, account_id, id);

-- One browser that exchanged the link for a cookie. Who confirmed the birth date in one browser
-- has not confirmed it in another that holds the same link.
create table kyc_visits (
  account_id uuid not null,
  id uuid not null,
  session_id uuid not null,
  confirmed_at timestamptz,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, session_id) references kyc_sessions on delete cascade
);
create index kyc_visits_session on kyc_visits (account_id, session_id);

-- Global look-up: hash of a link's token, or of a visit's cookie → whose it is.
create table kyc_tokens (
  token_hash bytea primary key,
  account_id uuid not null,
  session_id uuid not null,
  -- Null for the link itself.
  visit_id uuid,
  foreign key (account_id, session_id) references kyc_sessions on delete cascade
);
create index kyc_tokens_session on kyc_tokens (account_id, session_id);

-- What a person has typed and not yet submitted, encrypted with the user's own key.
create table kyc_drafts (
  account_id uuid not null,
  user_id uuid not null,
  content bytea not null,
  updated_at timestamptz not null,
  primary key (account_id, user_id),
  foreign key (account_id, user_id) references users
);

create table kyc_applications (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  -- What was submitted, encrypted with the user's own key; null once it was deleted.
  content bytea,
  submitted_at timestamptz not null,
  -- When the last decision fell; the files are kept for some time after it. Null while open.
  decided_at timestamptz,
  deleted_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users,
  check ((deleted_at is null) = (content is not null))
);
create index kyc_applications_user on kyc_applications (user_id, account_id, id);
create index kyc_applications_decided on kyc_applications (account_id, decided_at)
  where deleted_at is null;

-- A file of a draft (no application) or of an application. Several rows may name one stored file.
create table kyc_files (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  application_id uuid,
  slot text not null
    check (slot in ('document_front', 'document_back', 'selfie', 'registration_document')),
  -- The version in the file store, sealed with the user's own key.
  file uuid not null,
  -- Who sent it may see it again without having confirmed the birth date.
  visit_id uuid,
  type text not null check (type in ('pdf', 'jpg', 'png')),
  size integer not null,
  hash bytea not null,
  uploaded_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users,
  foreign key (account_id, application_id) references kyc_applications
);
create unique index kyc_files_draft on kyc_files (account_id, user_id, slot)
  where application_id is null;
create index kyc_files_user on kyc_files (account_id, user_id);
create index kyc_files_application on kyc_files (account_id, application_id);

-- Every result of an identity adapter, once.
create table kyc_results (
  account_id uuid not null,
  application_id uuid not null,
  result_id text not null,
  outcome text not null,
  is_applied boolean not null,
  created_at timestamptz not null,
  primary key (account_id, application_id, result_id),
  foreign key (account_id, application_id) references kyc_applications
);

-- A decision that waits for a second member. At most one of a user.
create table kyc_proposals (
  account_id uuid not null,
  user_id uuid not null,
  decision text not null,
  -- Encrypted with the user's own key: it may speak of the person.
  comment bytea not null,
  person_id uuid not null references people,
  -- The state of the user that was looked at; another state makes the proposal void.
  user_sequence integer not null,
  -- Keyed hash of all that was looked at; whatever changes of it makes the proposal void too.
  seen bytea not null,
  created_at timestamptz not null,
  primary key (account_id, user_id),
  foreign key (account_id, user_id) references users
);

-- What reviewers wrote. The audit log outlives the person and holds only a digest of it.
create table kyc_review_notes (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  person_id uuid not null references people,
  action text not null,
  -- Encrypted with the user's own key: it may speak of the person.
  comment bytea not null,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users
);
create index kyc_review_notes_user on kyc_review_notes (account_id, user_id, id);
