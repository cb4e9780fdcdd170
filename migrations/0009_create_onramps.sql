-- Breaks running code: no.
set local lock_timeout = '5s';

create table onramps (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  status text not null check (status in ('initiated', 'sending_fiat', 'crypto_sent', 'failed')),
  status_message text,
  crypto_currency text not null,
  crypto_rails text not null,
  -- Millionths of a token.
  destination_amount bigint not null check (destination_amount > 0),
  -- The address that receives the coins, encrypted with the user's own key.
  details bytea not null,
  fiat_currency text not null,
  fiat_rails text not null check (fiat_rails in ('ach_push', 'wire', 'local')),
  rate numeric not null check (rate > 0),
  -- Minor units of the currency; the deposit includes the fee.
  fee bigint not null check (fee >= 0),
  deposit_amount bigint not null check (deposit_amount > 0),
  price_version_id uuid not null references price_versions,
  -- Where the deposit is to be sent, as it was told to the payer.
  deposit_instructions jsonb not null,
  deposit_message text not null,
  -- The deposit that pays it (a row of the operator's fiat_deposits), and what of it arrived here.
  deposit_id uuid,
  received bigint,
  -- waiting: may still be held or given back; sending: the coins may have left; sent: they have;
  -- refused: the chain will never take them.
  delivery text check (delivery in ('waiting', 'sending', 'sent', 'refused')),
  tx_id text,
  -- Number of the last event.
  sequence integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users
);
create index onramps_list on onramps (user_id, account_id, id);
create index onramps_list_by_status on onramps (user_id, account_id, status, id);

-- Global look-up: the code in a bank's text → the onramp it is for. Rows stay for ever, so that a
-- code never means two things.
create table deposit_codes (
  code text primary key,
  account_id uuid not null,
  onramp_id uuid not null unique,
  foreign key (account_id, onramp_id) references onramps
);

-- Money that came into our bank accounts, one row per line of the bank. All belong to the
-- operator's account: a line is known by its bank account and reference, whomever it may be for.
create table fiat_deposits (
  account_id uuid not null references accounts,
  id uuid not null,
  bank_account text not null,
  bank_reference text not null,
  -- 0 as the bank told it; above, what was left over when a part was used.
  part integer not null,
  -- The same reference was told before with another amount, currency or date.
  is_conflict boolean not null,
  amount bigint not null check (amount > 0),
  currency text not null,
  booked_at timestamptz not null,
  -- What the bank says of payer and purpose, encrypted with a key of its own.
  details bytea not null,
  status text not null check (status in
    ('unmatched', 'matching', 'matched', 'releasing', 'returning', 'returned', 'dismissed')),
  -- Why it waits for the operator.
  reason text,
  -- Whether the operator's books have it. A conflict is believed once somebody acts on it.
  is_posted boolean not null,
  -- How it is matched, with what, and how much of it the onramp takes.
  matched_by text check (matched_by in ('code', 'match', 'accept_difference')),
  onramp_account_id uuid,
  onramp_id uuid,
  matched_amount bigint,
  -- How often it was tried to send it back.
  returns integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id)
);
create unique index fiat_deposits_line on fiat_deposits (account_id, bank_account, bank_reference)
  where part = 0 and not is_conflict;
create unique index fiat_deposits_conflict on fiat_deposits
  (account_id, bank_account, bank_reference, amount, currency, booked_at)
  where part = 0 and is_conflict;
create unique index fiat_deposits_part
  on fiat_deposits (account_id, bank_account, bank_reference, part) where part > 0;
create index fiat_deposits_status on fiat_deposits (account_id, status, id);

-- What the sandbox's bank has received, and what it has given back.
create table sandbox_bank_credits (
  number bigint generated always as identity primary key,
  bank_account text not null,
  bank_reference text not null,
  amount bigint not null,
  currency text not null,
  text text not null,
  payer_name text not null,
  booked_at timestamptz not null,
  unique (bank_account, bank_reference, amount, currency)
);
create table sandbox_bank_returns (
  key text primary key,
  amount bigint not null,
  currency text not null
);
