-- Breaks running code: no
set local lock_timeout = '5s';

-- One queue per address that sends. Nonces are given out in order; a transaction with a higher one
-- is not mined before those with lower ones.
create table evm_senders (
  chain text not null,
  address text not null,
  is_treasury boolean not null default false,
  -- Null until the nodes were first asked.
  next_nonce bigint check (next_nonce >= 0),
  state text not null check (state in ('sending', 'waiting', 'unreachable', 'disagreeing',
    'misconfigured', 'stopped')),
  state_since timestamptz not null,
  problem text,
  -- What the nodes said when they were last asked: transactions mined, wei.
  mined_nonce bigint,
  balance numeric,
  base_fee numeric,
  checked_at timestamptz,
  primary key (chain, address)
);

create index evm_senders_reported on evm_senders (chain, address)
  where is_treasury or problem is not null;

create table evm_sends (
  key text primary key,
  number bigint generated always as identity,
  chain text not null,
  sender text not null,
  -- Of the deposit address that sends; null: the treasury.
  address_index bigint,
  action jsonb not null,
  state text not null check (state in ('queued', 'planned', 'signed', 'broadcast', 'mined', 'final',
    'refused')),
  state_since timestamptz not null,
  created_at timestamptz not null,
  -- When somebody last asked for it; a queued one that nobody asks for any more is not signed.
  -- Null: it is wanted until it is cancelled.
  asked_at timestamptz,
  -- A queued one is not tried before.
  retry_at timestamptz,
  problem text,
  is_cancelled boolean not null default false,
  nonce bigint,
  gas bigint,
  -- Of the attempt that was mined.
  tx_id text,
  block_number bigint,
  block_hash text,
  -- Wei, once it is final.
  gas_cost numeric,
  foreign key (chain, sender) references evm_senders (chain, address),
  unique (chain, sender, nonce),
  check (case state when 'queued' then nonce is null when 'refused' then true
    else nonce is not null end)
);
-- The next nonce is given out only after the one before was signed: so a nonce that the signer
-- refuses leaves no gap.
create unique index evm_sends_planned on evm_sends (chain, sender) where state = 'planned';
create index evm_sends_open on evm_sends (chain, sender, number)
  where state not in ('final', 'refused');

-- The transactions of a send: they have the same nonce, so at most one of them can be mined.
create table evm_attempts (
  key text not null references evm_sends (key),
  attempt integer not null check (attempt >= 1),
  -- A cancel replaces the send by a transfer of nothing to the sender itself.
  is_cancel boolean not null default false,
  max_fee numeric not null check (max_fee > 0),
  priority_fee numeric not null check (priority_fee >= 0 and priority_fee <= max_fee),
  planned_at timestamptz not null,
  -- Stored before they are sent to a node: after a crash the same bytes are sent.
  raw text,
  tx_id text unique,
  tried_at timestamptz,
  accepted_at timestamptz,
  -- The latest block when a node first accepted it.
  accepted_block bigint,
  answer text,
  primary key (key, attempt),
  check ((raw is null) = (tx_id is null)),
  check (tried_at is null or raw is not null)
);
