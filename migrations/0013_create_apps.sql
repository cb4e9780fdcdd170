-- Breaks running code: no.
set local lock_timeout = '5s';

-- Webhooks are sent for an account once the operator has enabled it. The first account of a
-- sandbox is.
alter table accounts add column webhooks_enabled_at timestamptz;
update accounts set webhooks_enabled_at = created_at
  where is_operator and exists (select from installation where mode = 'sandbox');

-- An OAuth application, and the endpoint that is told of events.
create table apps (
  account_id uuid not null references accounts,
  -- Also its client_id.
  id uuid not null,
  name text not null,
  flow text not null check (flow in ('authorization_code', 'client_credentials')),
  -- Keyed hash: the secret itself is known only to whoever made the application.
  client_secret_hash bytea not null,
  client_secret_last_four text not null,
  redirect_uris text[] not null,
  -- The first API call answered 2xx with one of its tokens.
  used_at timestamptz,
  webhook_url text,
  -- Sealed with the account's key, as are the custom headers.
  webhook_secret bytea,
  -- Takes over at the switch; until then both sign.
  webhook_secret_next bytea,
  webhook_secret_switch_at timestamptz,
  webhook_headers bytea,
  -- The ramp events it chose; invoice events come by who may see the invoice.
  events text[] not null,
  -- Events of one record one after the other, each only when the one before has arrived.
  is_ordered boolean not null,
  webhook_state text not null check (webhook_state in ('active', 'paused', 'disabled')),
  webhook_state_reason text,
  -- The first failure since the last success.
  failing_since timestamptz,
  -- After several failures in a row nothing is sent until this time, and then one to try.
  circuit_failures integer not null default 0,
  circuit_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (account_id, id),
  check ((webhook_secret_next is null) = (webhook_secret_switch_at is null))
);
create index apps_list on apps (account_id, id) where deleted_at is null;

-- Global look-up: client_id → whose application it is.
create table app_ids (
  id uuid primary key,
  account_id uuid not null,
  foreign key (account_id, id) references apps
);

-- People who let an application act for one of their accounts. `account_id` is that account, not
-- the application's own; granting again clears `revoked_at`.
create table app_grants (
  account_id uuid not null references accounts,
  app_id uuid not null,
  app_account_id uuid not null,
  person_id uuid not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  primary key (account_id, app_id, person_id),
  foreign key (account_id, person_id) references members on delete cascade
);

-- Events of invoices: one change of an invoice writes one event for the seller's account and one
-- for the buyer's. Bodies go when their retention ends; digests stay.
alter table events
  alter column body drop not null,
  add column change_id uuid,
  add column role text check (role in ('seller', 'buyer')),
  -- The application whose token created the invoice.
  add column app_id uuid,
  -- The account on the other side of the invoice, where it is one of ours.
  add column counterpart_account_id uuid,
  add check ((change_id is null) = (role is null));
