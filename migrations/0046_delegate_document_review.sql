-- Breaks running code: no
set local lock_timeout = '5s';

-- Whether the account's own keys and members review documents, in addition to the operator's.
alter table accounts
  add column document_review_by_account boolean not null default false;
