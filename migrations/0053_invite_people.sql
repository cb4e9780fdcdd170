-- Breaks running code: yes, it expects every person to have a password.
set local lock_timeout = '5s';

-- Null until the person has followed the link of the invitation.
alter table people alter column password_hash drop not null;

-- Mail that waits to be sent. It names no secret: links are created when it is sent.
create table mails (
  account_id uuid not null references accounts,
  id uuid not null,
  kind text not null,
  -- Encrypted.
  address bytea not null,
  created_at timestamptz not null,
  -- Not sent any more after this time.
  expires_at timestamptz not null,
  primary key (account_id, id)
);

-- Links by which people set a password. Only a hash of the token in the link is stored.
create table password_links (
  token_hash bytea primary key,
  person_id uuid not null references people,
  kind text not null check (kind in ('invitation', 'reset')),
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index password_links_person on password_links (person_id);
create index password_links_expiry on password_links (expires_at);

-- What the sandbox sends instead of mail. Its text, which contains links, is encrypted.
create table sandbox_outbox (
  id uuid primary key,
  content bytea not null,
  sent_at timestamptz not null,
  expires_at timestamptz not null
);
create index sandbox_outbox_expiry on sandbox_outbox (expires_at);
