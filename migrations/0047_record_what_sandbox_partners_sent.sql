-- Breaks running code: yes.
set local lock_timeout = '5s';

-- To whom the sandbox's bank and chain sent money, as keyed digests: verify compares them with
-- what was to be paid. Rows from before have none.
alter table sandbox_bank_payouts add column beneficiary bytea;
alter table sandbox_bank_payouts
  add constraint sandbox_bank_payouts_beneficiary_check check (beneficiary is not null) not valid;

alter table sandbox_sends
  add column chain text,
  add column token text,
  add column amount bigint,
  add column recipient bytea;
alter table sandbox_sends
  add constraint sandbox_sends_recipient_check
  check (chain is not null and token is not null and amount is not null and recipient is not null)
  not valid;
