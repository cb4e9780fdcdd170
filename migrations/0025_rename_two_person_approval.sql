-- Breaks running code: yes.
set local lock_timeout = '5s';

-- Every setting, option and column calls two-person approval by the same name.
alter table accounts rename column kyc_four_eyes to kyc_two_person_approval;
