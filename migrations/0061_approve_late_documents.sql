-- Breaks running code: no
set local lock_timeout = '5s';

-- Uploaded after two members had approved the payout: it is paid only once they approve it too.
alter table offramps add column document_after_approval boolean not null default false;
