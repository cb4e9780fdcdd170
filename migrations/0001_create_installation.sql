-- Breaks running code: no (first migration).
set local lock_timeout = '5s';

-- One row: what holds for the whole installation. `mode` is stamped once and never changed.
create table installation (
  id boolean primary key check (id),
  mode text not null check (mode in ('sandbox', 'live')),
  -- Identifies the master key; a process with another key refuses to start.
  master_key_id text not null,
  -- Keys of the keyed hashes (blind indexes, request hashes), wrapped by the master key.
  index_key bytea not null,
  -- What sandbox time runs ahead of the database's time. Always 0 in live mode.
  clock_offset_ms bigint not null default 0 check (clock_offset_ms >= 0),
  -- How many people were erased: a process that sees it rise forgets the keys it has in memory.
  erasures bigint not null default 0,
  created_at timestamptz not null
);

create table accounts (
  id uuid primary key,
  name text not null,
  is_operator boolean not null,
  created_at timestamptz not null
);
create unique index accounts_operator on accounts (is_operator) where is_operator;
create unique index accounts_name on accounts (name);

-- Encryption keys: master (outside the database) wraps account_keys wraps subject_keys.
-- A subject is a person whose data is encrypted; erasing the person deletes the row.
create table account_keys (
  account_id uuid not null references accounts,
  version integer not null,
  master_key_id text not null,
  wrapped bytea not null,
  created_at timestamptz not null,
  primary key (account_id, version)
);

create table subject_keys (
  account_id uuid not null references accounts,
  subject_id uuid not null,
  account_key_version integer not null,
  wrapped bytea not null,
  created_at timestamptz not null,
  primary key (account_id, subject_id),
  foreign key (account_id, account_key_version) references account_keys
);

create table api_keys (
  account_id uuid not null references accounts,
  id uuid not null,
  name text not null,
  prefix text not null,
  last_four text not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  primary key (account_id, id)
);

-- Global look-up: hash of a presented key → whose it is.
create table api_key_hashes (
  key_hash bytea primary key,
  account_id uuid not null,
  api_key_id uuid not null,
  foreign key (account_id, api_key_id) references api_keys
);

-- A person signs in; a member is a person's role in one account.
create table people (
  id uuid primary key,
  email_index bytea not null unique,
  email bytea not null,
  password_hash text not null,
  created_at timestamptz not null
);

create table members (
  account_id uuid not null references accounts,
  person_id uuid not null references people,
  role text not null
    check (role in ('admin', 'finance_manager', 'accountant', 'approver', 'developer')),
  created_at timestamptz not null,
  primary key (account_id, person_id)
);
create index members_person on members (person_id);

-- Sign-in sessions run on real time, not on the sandbox clock.
create table sessions (
  token_hash bytea primary key,
  account_id uuid not null,
  person_id uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  foreign key (account_id, person_id) references members on delete cascade
);
create index sessions_expiry on sessions (expires_at);

-- Append only. Holds ids, never personal data; `reason` is what the acting person typed.
create table audit_entries (
  account_id uuid not null references accounts,
  id uuid not null,
  at timestamptz not null,
  actor text not null,
  action text not null,
  record text not null,
  reason text not null,
  detail text not null,
  primary key (account_id, id)
);

-- Sealing: an entry of a log is noted here in its own transaction; the sealer moves what it sees
-- into a block. A late commit is thus sealed in a later block, never missed.
create table seal_pending (
  account_id uuid not null references accounts,
  log text not null,
  entry_id uuid not null,
  digest bytea not null,
  noted_at timestamptz not null,
  primary key (account_id, log, entry_id)
);

create table seal_blocks (
  account_id uuid not null references accounts,
  log text not null,
  number bigint not null,
  entry_ids uuid[] not null,
  digests bytea[] not null,
  previous_hash bytea not null,
  hash bytea not null,
  signature bytea not null,
  sealed_at timestamptz not null,
  primary key (account_id, log, number)
);

-- Every command leaves a row in its own transaction: it proves that a commit happened, and with an
-- Idempotency-Key it holds the answer (encrypted) that a repetition is given.
create table commands (
  account_id uuid not null references accounts,
  id uuid not null,
  idempotency_index bytea,
  request_hash bytea,
  -- Whose data the answer holds; null when nobody's. Erasing the person deletes the row, also one
  -- that is being written at that moment: checked at the commit, when a new person's key is there.
  subject_id uuid,
  answer bytea,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, subject_id) references subject_keys
    on delete cascade deferrable initially deferred
);
create unique index commands_idempotency on commands (account_id, idempotency_index)
  where idempotency_index is not null;
create index commands_subject on commands (account_id, subject_id) where subject_id is not null;
create index commands_unkeyed on commands (account_id, created_at) where idempotency_index is null;

create table tasks (
  account_id uuid not null references accounts,
  id uuid not null,
  kind text not null,
  record_id uuid not null,
  due_at timestamptz not null,
  attempts integer not null default 0,
  -- Leases run on real time; lease_id changes with every claim, so a frozen worker that wakes up
  -- finds its lease gone.
  leased_until timestamptz,
  lease_id uuid,
  last_error text,
  created_at timestamptz not null,
  primary key (account_id, id)
) with (fillfactor = 50);
-- A drained queue looks empty to the planner. No other index may begin with account_id, or hold
-- the id behind due_at: a burst would then be looked up through it, row by row.
create index tasks_due on tasks (kind, due_at);
create index tasks_failed on tasks (kind, due_at) where attempts > 0;
create index tasks_record on tasks (record_id, kind);

-- Real time: one row per process that works on tasks.
create table worker_beats (
  worker_id uuid primary key,
  beat_at timestamptz not null
);
