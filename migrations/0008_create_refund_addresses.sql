-- Breaks running code: no.
set local lock_timeout = '5s';

-- Addresses that a user has registered: what is owed to them may be returned there.
create table refund_addresses (
  account_id uuid not null,
  id uuid not null,
  user_id uuid not null,
  chain text not null,
  -- Encrypted with the user's own key; the keyed hash makes it unique and findable.
  address bytea not null,
  address_index bytea not null,
  created_at timestamptz not null,
  primary key (account_id, id),
  foreign key (account_id, user_id) references users
);
create unique index refund_addresses_address
  on refund_addresses (account_id, user_id, chain, address_index);
