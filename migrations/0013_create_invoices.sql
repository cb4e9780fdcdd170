-- Breaks running code: no.
set local lock_timeout = '5s';

-- Where an account is billed. One address leads to one account of the installation, whichever
-- account bills it, so the index of the keyed hash is global.
create table billing_emails (
  account_id uuid primary key references accounts,
  -- Sealed with the account's key.
  email bytea not null,
  email_index bytea not null,
  -- Invoices are shared with the account only once the address is known to be its own.
  verified_at timestamptz,
  created_at timestamptz not null
);
create unique index billing_emails_index on billing_emails (email_index);

-- The truth about an invoice stands under the account that made it, its owner, whoever acts on it.
create table invoices (
  account_id uuid not null references accounts,
  id uuid not null,
  format text not null check (format in ('svc_invoice', 'svc_salary')),
  status text not null check (status in ('draft', 'scheduled', 'open', 'accepted',
    'declaredPaid', 'paid', 'canceled', 'rejected')),
  -- The present one; null until it is payable. Earlier ones are in invoice_request_ids.
  request_id text,
  -- Keyed hash of the invoice number, unique per account.
  number_index bytea not null,
  currency text not null,
  -- Minor units.
  total bigint not null check (total >= 0),
  total_without_tax bigint not null check (total_without_tax >= 0),
  creation_date timestamptz not null,
  due_at timestamptz,
  -- Everything personal (parties, items, notes), encrypted with the account's key.
  document bytea not null,
  -- Keyed hash of the other party's e-mail address.
  party_index bytea not null,
  -- The other party's account, where it has one, and the first change that it is told of.
  shared_with uuid references accounts,
  shared_from integer,
  -- Whether a payment that fails returns it to accepted.
  was_accepted boolean not null default false,
  -- How it was paid, and the offramp (of the payer's account) that pays or paid it.
  payment bytea,
  offramp_id uuid,
  -- A template with a recurring rule makes the others; they name it and count from 1.
  next_occurrence_at timestamptz,
  occurrences integer not null default 0,
  template_id uuid,
  occurrence integer,
  -- The application whose token made it.
  app_id uuid,
  -- Number of the last change.
  sequence integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, template_id) references invoices,
  check ((shared_with is null) = (shared_from is null)),
  check ((template_id is null) = (occurrence is null))
);
create unique index invoices_number on invoices (number_index, account_id);
create unique index invoices_occurrence on invoices (template_id, account_id, occurrence);
create index invoices_party on invoices (party_index, account_id, id);

-- Every change, in order. `events` of the owner's account holds the same under the same sequence,
-- except changes that no webhook tells of.
create table invoice_changes (
  account_id uuid not null,
  invoice_id uuid not null,
  sequence integer not null,
  -- Shared by the events of both sides.
  id uuid not null,
  name text not null,
  from_status text,
  to_status text not null,
  -- Null for the service itself and for a party without an account.
  actor_account_id uuid,
  -- Note, amount and link that came with it, encrypted with the owner's key.
  input bytea,
  -- Of a repeatable request, so that it is applied once.
  change_key bytea,
  -- Digest of the invoice after the change, without anything personal.
  facts bytea not null,
  -- The event as the other party's account will be told it, encrypted with the owner's key.
  other_body bytea,
  at timestamptz not null,
  primary key (account_id, invoice_id, sequence),
  foreign key (account_id, invoice_id) references invoices
);
create unique index invoice_changes_key on invoice_changes (account_id, invoice_id, change_key)
  where change_key is not null;

-- Global look-up: every requestId that an invoice ever had.
create table invoice_request_ids (
  request_id text primary key,
  account_id uuid not null,
  invoice_id uuid not null,
  foreign key (account_id, invoice_id) references invoices
);

-- Global look-up: hash of the token in an invoice's link.
create table invoice_links (
  token_hash bytea primary key,
  account_id uuid not null,
  invoice_id uuid not null,
  foreign key (account_id, invoice_id) references invoices
);

-- Who sees an invoice: one row under each account, the owner's written with the invoice, the other
-- party's by a task. Lists read these rows, and only these.
create table invoice_views (
  account_id uuid not null references accounts,
  id uuid not null,
  owner_account_id uuid not null,
  role text not null check (role in ('seller', 'buyer')),
  format text not null,
  status text not null,
  creation_date timestamptz not null,
  due_at timestamptz,
  -- Number of the last change that this account was told of.
  sequence integer not null,
  -- The live offramp of this account that pays the invoice.
  offramp_id uuid,
  updated_at timestamptz not null,
  primary key (account_id, id)
);
create index invoice_views_status on invoice_views (status, account_id, id);
create index invoice_views_updated on invoice_views (account_id, updated_at);

-- Words of an invoice as keyed hashes, each with the accounts that may find it by them.
create table invoice_words (
  account_id uuid not null,
  word bytea not null,
  invoice_id uuid not null,
  primary key (account_id, word, invoice_id),
  foreign key (account_id, invoice_id) references invoice_views
);

-- What became of offramps that pay an invoice, under the payer's account; a task carries each step
-- to the invoice. `step` is the offramp's own sequence.
create table invoice_payment_steps (
  account_id uuid not null,
  offramp_id uuid not null,
  step integer not null,
  invoice_id uuid not null,
  kind text not null check (kind in ('funded', 'rerouted', 'sent', 'bounced', 'failed')),
  applied_at timestamptz,
  created_at timestamptz not null,
  primary key (account_id, offramp_id, step),
  foreign key (account_id, invoice_id) references invoice_views
);

-- The same steps as the invoice's owner has taken note of, each once.
create table invoice_payments (
  account_id uuid not null,
  invoice_id uuid not null,
  offramp_id uuid not null,
  step integer not null,
  created_at timestamptz not null,
  primary key (account_id, invoice_id, offramp_id, step),
  foreign key (account_id, invoice_id) references invoices
);

alter table offramps add column invoice_id uuid;
alter table offramps add foreign key (account_id, invoice_id) references invoice_views;
