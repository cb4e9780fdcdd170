-- Breaks running code: no
set local lock_timeout = '5s';

-- Currencies and rails of which a bank has booked a payout. Until then, payouts can be limited.
create table proven_rails (
  currency text not null,
  rail text not null,
  proven_at timestamptz not null,
  primary key (currency, rail)
);
insert into proven_rails (currency, rail, proven_at)
  select o.destination_currency, o.rails, max(p.updated_at)
  from payouts p join offramps o on o.account_id = p.account_id and o.id = p.offramp_id
  where p.status = 'booked'
  group by o.destination_currency, o.rails;
