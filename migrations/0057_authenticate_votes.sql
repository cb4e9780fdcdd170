-- Breaks running code: yes
set local lock_timeout = '5s';

-- Made by the process that recorded the vote; null: recorded before votes had one, or by SQL.
alter table proposal_votes add column mac bytea;
