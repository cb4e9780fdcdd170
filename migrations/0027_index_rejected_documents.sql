-- Breaks running code: no.
set local lock_timeout = '5s';

-- For the page on which members look at rejected documents.
create index offramps_rejected_document on offramps (account_id, id)
  where document_status = 'rejected';
