-- Breaks running code: no.
set local lock_timeout = '5s';

create table offramps (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  quote_id uuid not null,
  payment_detail_id uuid not null,
  status text not null check (status in ('initiated', 'pending_internal_assessment',
    'ongoing_checks', 'sending_fiat', 'fiat_sent', 'bounced', 'failed')),
  status_message text,
  -- Minor units of the currency.
  destination_amount bigint not null check (destination_amount > 0),
  destination_currency text not null,
  rails text not null check (rails in ('local', 'swift', 'wire')),
  rate numeric not null check (rate > 0),
  fee bigint not null check (fee >= 0),
  deposit_token text not null,
  -- Millionths of a token: what it costs, and the fee's part of it.
  token_amount bigint not null check (token_amount > 0),
  token_fee bigint not null check (token_fee >= 0),
  -- Reference, metadata and document address, encrypted with the user's own key.
  details bytea not null,
  document_status text check (document_status in ('not_checked', 'approved', 'rejected')),
  document_source text check (document_source in ('url', 'upload')),
  -- Null until a copy is stored.
  document_file text,
  document_hash bytea,
  document_type text,
  -- Counts changes of the document, so that a late fetch cannot overwrite a newer upload.
  document_version integer not null default 0,
  -- Set when its part of the deposit was set aside for it.
  funded_at timestamptz,
  attempt integer not null default 0,
  payout_reference jsonb,
  -- Number of the last event.
  sequence integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, quote_id) references quotes,
  foreign key (account_id, user_id) references users,
  foreign key (account_id, payment_detail_id) references payment_details
);
create index offramps_list on offramps (user_id, account_id, id);
create index offramps_list_by_status on offramps (user_id, account_id, status, id);
create index offramps_quote on offramps (quote_id, account_id, id);

-- One row per attempt to pay an offramp out.
create table payouts (
  account_id uuid not null,
  offramp_id uuid not null,
  attempt integer not null,
  payment_detail_id uuid not null,
  end_to_end_id text not null,
  -- recorded: nothing has left; submitting: the bank may or may not have it; sent: it has it.
  status text not null check (status in
    ('recorded', 'submitting', 'sent', 'booked', 'returned', 'rejected')),
  returned_amount bigint,
  -- When the operator was told that the bank is silent.
  chased_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, offramp_id, attempt),
  foreign key (account_id, offramp_id) references offramps
);
create unique index payouts_end_to_end on payouts (account_id, end_to_end_id);
create index payouts_unanswered on payouts (created_at)
  where status in ('submitting', 'sent') and chased_at is null;

-- What the bank said, once per bank reference; whatever cannot be applied stays visible.
create table bank_answers (
  account_id uuid not null references accounts,
  bank_reference text not null,
  end_to_end_id text not null,
  kind text not null check (kind in ('booked', 'returned', 'rejected')),
  amount bigint,
  currency text,
  outcome text not null,
  created_at timestamptz not null,
  primary key (account_id, bank_reference)
);
