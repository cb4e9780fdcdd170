-- Breaks running code: yes: earlier versions end sends without it, and those are not believed
set local lock_timeout = '5s';

-- Made by the process that ended the send (final, refused): whoever can write SQL cannot call a
-- payment refused that was sent, so that it is paid again.
alter table evm_sends add column mac bytea;
