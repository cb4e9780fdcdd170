-- Breaks running code: yes, it writes sessions without these columns.
set local lock_timeout = '5s';

-- Everybody signs in again: earlier sessions lack what follows.
delete from sessions;
alter table sessions
  add column id uuid not null,
  add column state text not null check (state in ('awaiting_factor', 'active')),
  -- Device and network, encrypted.
  add column origin bytea,
  -- To the minute.
  add column used_at timestamptz not null,
  -- When the person last proved, with a password or a second factor, who they are.
  add column confirmed_at timestamptz not null;
create index sessions_person on sessions (person_id);

create table totp_factors (
  person_id uuid primary key references people,
  -- Encrypted.
  seed bytea not null,
  -- The time step of the last code that was accepted: none is accepted twice.
  last_step bigint not null,
  created_at timestamptz not null
);

-- Keyed hashes; a code is deleted when it is used.
create table recovery_codes (
  person_id uuid not null references people,
  code_hash bytea not null,
  primary key (person_id, code_hash)
);
