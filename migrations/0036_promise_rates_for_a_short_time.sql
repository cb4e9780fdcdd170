-- Breaks running code: yes, until it is restarted: it writes quotes with `hold`.
set local lock_timeout = '5s';

-- What is left of an accepted shortfall; deducted from what its offramps give back.
alter table quotes add column shortfall bigint not null default 0
  constraint quotes_shortfall_check check (shortfall >= 0);
-- What of its deposits had left the balance by another door when it was executed.
alter table quotes add column spent_before bigint;
-- A late deposit stays owed to the user; nothing is held for it any more.
alter table quotes drop column hold;

alter table offramps
  -- What a failed offramp gave back, in millionths of its token, and the rate at which money that
  -- had left and come back was converted.
  add column given_back bigint
    constraint offramps_given_back_check check (given_back >= 0),
  add column refund_rate numeric,
  -- Until when its rate is kept while it waits; paused while only the operator can act.
  add column rate_until timestamptz,
  add column rate_paused_at timestamptz;

-- When it was paid: a gate holds it for a limited time from then on.
alter table onramps add column paid_at timestamptz;
