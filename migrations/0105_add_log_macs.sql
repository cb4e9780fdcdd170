-- Breaks running code: yes
set local lock_timeout = '5s';

-- The MAC of the process that wrote the row (decision 36). Null in rows from before; a block of the
-- log vouches for those.
alter table ledger_entries add column mac bytea;
alter table events add column mac bytea;
alter table audit_entries add column mac bytea;

-- A copy, so that the sealer checks it without reading the row. It sets aside entries without one:
-- an older version, which writes none, must not run beside it.
alter table seal_pending add column mac bytea;

-- Entries that waited to be sealed and that this service did not write.
create table seal_rejected (
  account_id uuid not null,
  log text not null,
  entry_id uuid not null,
  digest bytea,
  mac bytea,
  noted_at timestamptz not null,
  rejected_at timestamptz not null,
  constraint seal_rejected_pkey primary key (account_id, log, entry_id)
);

-- A stored balance can be spent: it carries a MAC too. `last_entry_id` is the newest entry in it,
-- so that an earlier balance with its MAC cannot be put back.
alter table ledger_balances add column last_entry_id uuid;
alter table ledger_balances add column mac bytea;
