-- Breaks running code: no
set local lock_timeout = '5s';

-- A rail is proven for the account of ours that paid by it: another bank is new to it.
alter table proven_rails
  add column bank_account text not null default '',
  drop constraint proven_rails_pkey,
  add primary key (bank_account, currency, rail);
delete from proven_rails;
insert into proven_rails (bank_account, currency, rail, proven_at)
  select p.bank_account, o.destination_currency, o.rails, max(p.updated_at)
  from payouts p join offramps o on o.account_id = p.account_id and o.id = p.offramp_id
  where p.status = 'booked' and p.bank_account is not null
  group by p.bank_account, o.destination_currency, o.rails;
