-- Breaks running code: yes, it adds passkeys without this column.
set local lock_timeout = '5s';

-- False from a new password until the passkey was used after it.
alter table passkeys add column works_alone boolean not null default true;
alter table passkeys alter column works_alone drop default;
