-- Breaks running code: no.
set local lock_timeout = '5s';

create table users (
  account_id uuid not null references accounts,
  id uuid not null,
  beneficiary_type text not null check (beneficiary_type in ('individual', 'business')),
  -- Keyed hash of the e-mail address: unique per account without being readable.
  email_index bytea,
  -- Everything personal, encrypted with the user's own key.
  identity bytea,
  kyc_status text not null,
  kyc_comment bytea,
  kyc_usd_status text not null,
  kyc_usd_swift_status text not null,
  kyc_eur_status text not null,
  kyc_eur_swift_status text not null,
  -- Number of the last event about this user.
  sequence integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  erased_at timestamptz,
  primary key (account_id, id),
  check ((erased_at is null) = (identity is not null)),
  check ((erased_at is null) = (email_index is not null))
);
create unique index users_email on users (email_index, account_id);
create index users_list on users (account_id, id) where erased_at is null;
create index users_list_by_kyc on users (account_id, kyc_status, id) where erased_at is null;

create table payment_details (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  currency text not null,
  rails text not null check (rails in ('local', 'swift', 'wire')),
  beneficiary_type text not null check (beneficiary_type in ('individual', 'business')),
  status text not null check (status in ('pending', 'approved', 'failed', 'deactivated')),
  -- The bank account and its holder, encrypted with the user's own key.
  details bytea not null,
  -- Number of the last event about this payment detail.
  sequence integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users
);
create index payment_details_list on payment_details (user_id, account_id, id);
create index payment_details_list_by_status on payment_details (user_id, account_id, status, id);
