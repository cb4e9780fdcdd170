-- Breaks running code: no.
set local lock_timeout = '5s';

-- A refund that the chain refused for good is failed; its amount is owed to the user again.
alter table refunds drop constraint refunds_status_check,
  add constraint refunds_status_check
    check (status in ('pending', 'sending', 'sent', 'failed'));
