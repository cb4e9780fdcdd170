-- Breaks running code: yes, it would let people sign in without their passkey.
set local lock_timeout = '5s';

create table passkeys (
  person_id uuid not null references people,
  id uuid not null,
  credential_id bytea not null unique,
  -- Encrypted, bound to the person and the credential: a row written by anybody else is not usable.
  public_key bytea not null,
  -- The authenticator's signature counter at the last use; 0 if it has none.
  sign_count bigint not null,
  transports text[] not null,
  -- Encrypted.
  name bytea not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (person_id, id)
);

-- Keyed hashes over the challenge, what it is for and the session or browser that asked for it.
-- A row is deleted when it is used.
create table passkey_challenges (
  challenge_hash bytea primary key,
  expires_at timestamptz not null
);
create index passkey_challenges_expiry on passkey_challenges (expires_at);
