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

-- The order in which the events of an account are read and sent: given by one writer at a time, so
-- that no late commit enters behind a reader. It follows the blocks of the sealed log.
create table event_positions (
  account_id uuid not null references accounts,
  position bigint not null,
  event_id uuid not null,
  primary key (account_id, position),
  foreign key (account_id, event_id) references events
);
create unique index event_positions_event on event_positions (account_id, event_id);

-- Up to which block the events of an account have been ordered and handed to applications.
create table event_cursors (
  account_id uuid primary key references accounts,
  block_number bigint not null,
  position bigint not null,
  -- The last event whose body was deleted when its retention ended.
  trimmed_id uuid
);

-- One event for one application; `account_id` is the application's, the event may be another's.
create table webhook_deliveries (
  account_id uuid not null,
  id uuid not null,
  app_id uuid not null,
  event_account_id uuid not null,
  event_id uuid not null,
  name text not null,
  record_id uuid not null,
  sequence integer not null,
  -- Samples have no event that holds their body; sealed with the account's key.
  body bytea,
  status text not null check (status in ('pending', 'delivered', 'failed', 'skipped')),
  -- Why it was skipped, or what the last attempt met with.
  reason text,
  attempts integer not null default 0,
  -- Of these, those made before it was last asked for again: the schedule starts anew.
  attempts_before integer not null default 0,
  -- To the millisecond, as the program reads it: it is compared with what was read.
  next_attempt_at timestamptz(3),
  delivered_at timestamptz,
  -- The attempt that delivered it: the answer's status, how long it took, and its beginning.
  answered integer,
  latency_ms integer,
  answer bytea,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, app_id) references apps,
  check ((status = 'pending') = (next_attempt_at is not null)),
  check ((status = 'delivered') = (answered is not null))
-- Nothing that changes is indexed, and pages keep room: an outcome is written beside the row it
-- replaces, without touching an index.
) with (fillfactor = 50);
create unique index webhook_deliveries_event
  on webhook_deliveries (account_id, event_id, app_id);

-- The deliveries that are pending, in the order of their time, with what is needed to send them.
create table webhook_queue (
  account_id uuid not null,
  app_id uuid not null,
  due_at timestamptz(3) not null,
  delivery_id uuid not null,
  event_account_id uuid not null,
  event_id uuid not null,
  record_id uuid not null,
  sequence integer not null,
  is_sample boolean not null,
  attempts integer not null,
  attempts_before integer not null,
  primary key (account_id, app_id, due_at, delivery_id)
);
-- By record first: the planner must not take it for a way to find an application's rows.
create index webhook_queue_order on webhook_queue (record_id, app_id, sequence);

-- But for the one that delivered, while its delivery holds it.
create table webhook_attempts (
  account_id uuid not null,
  delivery_id uuid not null,
  number integer not null,
  at timestamptz not null,
  -- Null when there was no answer; `error` then says why.
  status integer,
  error text,
  latency_ms integer not null,
  -- The beginning of the answer, sealed with the account's key.
  answer bytea,
  primary key (account_id, delivery_id, number)
);

-- Asked-for repetitions of a range of time.
create table webhook_replays (
  account_id uuid not null,
  id uuid not null,
  app_id uuid not null,
  since timestamptz not null,
  until timestamptz not null,
  only_failed boolean not null,
  -- How many deliveries it put back, once it is done.
  deliveries integer,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, app_id) references apps
);
