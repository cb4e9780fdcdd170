-- Breaks running code: yes
set local lock_timeout = '5s';

-- The row that is locked while an account's amounts are counted, so that concurrent requests see
-- each other's. `approval_above_usd` (cents) overrides the setting of the same name.
create table account_controls (
  account_id uuid primary key references accounts,
  approval_above_usd bigint check (approval_above_usd >= 0)
);
insert into account_controls (account_id) select id from accounts;

-- What moved without approval (in cents), to sum it over 24 hours. A record counts once.
create table unapproved_amounts (
  account_id uuid not null references accounts,
  record_id uuid not null,
  amount_usd bigint not null check (amount_usd >= 0),
  created_at timestamptz not null,
  primary key (account_id, record_id)
);
create index unapproved_amounts_by_time on unapproved_amounts (account_id, created_at);

-- Execute and fund above the approval amount: the quote's offramps wait for this proposal. The
-- status is the proposal's own.
alter table quotes
  add column proposal_id uuid,
  add column approval_status text,
  add constraint quotes_approval_check check (
    (proposal_id is null) = (approval_status is null)
    and approval_status in ('pending', 'done', 'rejected', 'void', 'lapsed')
  );
