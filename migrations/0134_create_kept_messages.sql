-- Breaks running code: yes, until it is restarted: it keeps answers in the table that is dropped.
set local lock_timeout = '5s';

-- Messages of partners that could not be applied yet, in the partner's order by the record that
-- they concern (a payout, a quote): the reader goes on, and a task of the record tries them again.
create table kept_messages (
  account_id uuid not null,
  kind text not null,
  record_id uuid not null,
  place bigint not null check (place > 0),
  reference text not null,
  message text not null,
  kept_at timestamptz not null,
  mac bytea not null,
  primary key (account_id, kind, record_id, place),
  unique (account_id, kind, reference)
);
create index kept_messages_by_time on kept_messages (kind, kept_at);

-- Their MACs are of that table, so they cannot be moved by SQL.
do $$ begin
  if exists (select from kept_bank_answers) then
    raise exception 'answers of the bank are kept: run sliproad verify with the version before, '
      'repair what it names, and upgrade when "sliproad doctor" says that none are kept';
  end if;
end $$;
drop table kept_bank_answers;
