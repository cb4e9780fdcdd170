-- Breaks running code: no.
set local lock_timeout = '5s';

-- Rates and fees as they stood: quotes keep the version they were priced with. Never changed; the
-- last one (by id) is in use. The hash covers the content and the version before.
create table price_versions (
  id uuid primary key,
  content_hash bytea not null unique,
  source text not null,
  -- Null: as of whenever it is asked for, as the sandbox's own table always is.
  as_of timestamptz,
  -- { "usdc": { "eur": "0.92", … }, "usdt": { … } }: destination units for one token, exact.
  rates jsonb not null,
  -- { "local": { "basis_points": 40, "flat_usd": "0" }, … }
  fees jsonb not null,
  created_at timestamptz not null
);

-- The last accepted rate of a token and currency, and one that is too far off to be believed.
create table rate_checks (
  token text not null,
  currency text not null,
  accepted_rate text not null,
  accepted_at timestamptz not null,
  held_rate text,
  held_at timestamptz,
  primary key (token, currency)
);

create table quotes (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  deposit_token text not null check (deposit_token in ('usdc', 'usdt')),
  deposit_token_chain text not null,
  deposit_address text not null,
  price_version_id uuid not null references price_versions,
  expires_at timestamptz not null,
  -- Exact sums over its offramps, in millionths of a token.
  token_amount bigint not null default 0,
  token_fees bigint not null default 0,
  offramp_count integer not null default 0 check (offramp_count between 0 and 5000),
  executed_at timestamptz,
  -- The transfer that the caller named; null until executed.
  tx_id text,
  tx_network text,
  tx_named_at timestamptz,
  -- What the watcher credited to the quote's address in the right token.
  received bigint not null default 0,
  -- Set when the deposit suffices and what is owed to the user was set aside for it.
  funded_at timestamptz,
  -- Why its offramps wait for a person although it is funded; null when nothing holds them.
  hold text check (hold in ('late_deposit')),
  -- Set when it can never be funded any more: its offramps have failed.
  closed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users
);
create index quotes_list on quotes (user_id, account_id, id);
-- A transfer pays one quote of an account.
create unique index quotes_tx on quotes (account_id, deposit_token_chain, tx_id)
  where tx_id is not null;

-- Global look-up, watched for ever: whose is this address?
create table deposit_addresses (
  chain text not null,
  address text not null,
  account_id uuid not null,
  quote_id uuid not null,
  primary key (chain, address)
);

-- A transfer to one of our addresses, credited once whatever becomes of it.
create table deposits (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  quote_id uuid not null,
  chain text not null,
  tx_id text not null,
  log_index integer not null,
  token text not null,
  amount bigint not null check (amount > 0),
  mined_at timestamptz not null,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, quote_id) references quotes
);
create unique index deposits_transfer on deposits (account_id, chain, tx_id, log_index);
create index deposits_quote on deposits (account_id, quote_id, id);

-- How far we have read what a partner tells us, by partner and stream.
create table partner_cursors (
  name text primary key,
  cursor text not null,
  read_at timestamptz not null
);

-- Crypto on its way back to a user.
create table refunds (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  token text not null,
  chain text not null,
  amount bigint not null check (amount > 0),
  address bytea not null,
  status text not null check (status in ('pending', 'sending', 'sent')),
  tx_id text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users
);
create index refunds_list on refunds (account_id, user_id, id);
