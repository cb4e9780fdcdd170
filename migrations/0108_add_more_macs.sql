-- Breaks running code: yes
set local lock_timeout = '5s';

-- More rows carry a MAC of the process that wrote them (decision 36): what decides who may do what,
-- how much may leave, and which money came in. An older version writes none.
alter table accounts add column mac bytea;
alter table account_controls add column mac bytea;
alter table limit_rules add column mac bytea;
alter table proposals add column mac bytea;
alter table unapproved_amounts add column mac bytea;
alter table users add column mac bytea;
alter table onramps add column mac bytea;
alter table fiat_deposits add column mac bytea;
alter table bank_answers add column mac bytea;
alter table sessions add column mac bytea;
alter table password_links add column mac bytea;
alter table passkeys add column mac bytea;
alter table totp_factors add column mac bytea;
alter table recovery_codes add column mac bytea;
alter table rate_checks add column mac bytea;
alter table partner_cursors add column mac bytea;
alter table kyc_files add column mac bytea;
