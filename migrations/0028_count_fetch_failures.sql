-- Breaks running code: no.
set local lock_timeout = '5s';

-- How often the document of this URL could not be fetched; the worker gives up after some.
alter table offramps add column document_fetch_failures integer not null default 0;
