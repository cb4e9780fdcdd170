-- Breaks running code: no.
set local lock_timeout = '5s';

-- A keyed hash of the reference, to find payouts by it; null without one, and for payouts that
-- were created before.
alter table offramps add column reference_index bytea;
create index offramps_reference on offramps (reference_index, account_id, id)
  where reference_index is not null;

-- Payouts of an account by rail, currency and status, each newest first: a filter by any of these
-- merges the ranges that it leaves. The account is not first: see 0020.
create index offramps_list_by_kind
  on offramps (rails, account_id, destination_currency, status, id);
