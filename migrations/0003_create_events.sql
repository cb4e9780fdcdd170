-- Breaks running code: no.
set local lock_timeout = '5s';

-- Every change of a record, in the transaction of the change. `sequence` counts per record from 1.
create table events (
  account_id uuid not null references accounts,
  id uuid not null,
  name text not null,
  record_id uuid not null,
  sequence integer not null,
  from_status text,
  to_status text not null,
  -- Digest of the record as it stood after the change, personal data left out: verify compares the
  -- last one with the record itself.
  facts bytea not null,
  -- The body as it is sent, encrypted with the key of the person it speaks of.
  subject_id uuid,
  body bytea not null,
  created_at timestamptz not null,
  primary key (account_id, id)
);
create unique index events_sequence on events (record_id, account_id, sequence);
