-- Breaks running code: no
set local lock_timeout = '5s';

-- When the member first used the account. Before that the account's admins do not learn whether the
-- person has a password or a second factor: they may be a member of other accounts.
alter table members add column joined_at timestamptz;

-- Until now it was not noted: whoever has a password counts.
update members set joined_at = members.created_at
from people where people.id = members.person_id and people.password_hash is not null;
