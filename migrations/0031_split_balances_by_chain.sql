-- Breaks running code: yes, until it is restarted: it writes offramps without their chain.
set local lock_timeout = '5s';

-- What is owed to a user is counted per chain, so an offramp stores which chain paid for it.
alter table offramps add column deposit_token_chain text;
update offramps o set deposit_token_chain = q.deposit_token_chain from quotes q
  where q.account_id = o.account_id and q.id = o.quote_id;
alter table offramps alter column deposit_token_chain set not null;
