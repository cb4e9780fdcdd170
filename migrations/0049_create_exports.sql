-- Breaks running code: no.
set local lock_timeout = '5s';

-- Files for auditors. A row outlives its file: a copy can still be recognized by its digest.
create table exports (
  account_id uuid not null references accounts (id),
  id uuid not null,
  kind text not null
    check (kind in ('payouts', 'ledger', 'deposits', 'audit_log', 'approvals')),
  format text not null check (format in ('csv', 'jsonl')),
  period_from timestamptz not null,
  period_to timestamptz not null,
  requested_by text not null,
  status text not null check (status in ('pending', 'ready', 'removed')),
  file text,
  row_count bigint,
  byte_count bigint,
  digest bytea,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  check (period_from < period_to),
  check ((status = 'pending') = (digest is null)),
  check ((status = 'ready') = (file is not null))
);
create index exports_digest on exports (digest) where digest is not null;
