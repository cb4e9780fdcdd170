-- Breaks running code: no.
set local lock_timeout = '5s';

-- What the OAuth server remembers: codes, tokens, consents, its sessions. A global look-up, since
-- whoever presents a token names no account. Ids are keyed hashes and contents are sealed, so that
-- nothing in here can be presented. Everything runs on real time.
create table oauth_artifacts (
  model text not null,
  id_hash bytea not null,
  payload bytea not null,
  -- Of a Grant its own id: what belongs to a consent dies with it.
  grant_id text,
  -- A session is also found by its public name.
  uid text,
  -- The application, and for what rests on a consent also the granting account and person.
  app_id uuid,
  account_id uuid,
  person_id uuid,
  consumed_at timestamptz,
  expires_at timestamptz not null,
  primary key (model, id_hash)
);
create index oauth_artifacts_grant on oauth_artifacts (grant_id) where grant_id is not null;
create index oauth_artifacts_uid on oauth_artifacts (uid) where uid is not null;
create index oauth_artifacts_consent on oauth_artifacts (person_id, app_id) where model = 'Grant';
create index oauth_artifacts_expiry on oauth_artifacts (expires_at);

-- A person's page lists what they let in, in all of their accounts.
create index app_grants_person on app_grants (person_id);

-- Keys that sign id tokens, as private JWKs sealed by a key of the installation.
create table oauth_signing_keys (
  id text primary key,
  jwk bytea not null,
  created_at timestamptz not null
);
