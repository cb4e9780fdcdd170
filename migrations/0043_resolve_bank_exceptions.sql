-- Breaks running code: yes.
set local lock_timeout = '5s';

-- An answer that was not applied is an exception, which the operator resolves. `held` is what
-- stands in suspense because of it.
alter table bank_answers
  add column held bigint not null default 0 check (held >= 0),
  add column status text check (status in ('open', 'returning', 'resolved')),
  add column resolution text check (resolution in ('assign', 'return', 'write_off', 'dismiss')),
  add column reason text,
  add column assigned_offramp_id uuid,
  add column assigned_attempt integer,
  add column returns integer not null default 0,
  add column updated_at timestamptz;

update bank_answers b set status = 'open', updated_at = created_at,
  held = case when kind <> 'returned' or amount <= 0 then 0 else coalesce(
    (select sum(-l.amount) from ledger_entries e
      join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
      where e.account_id = b.account_id and e.key = 'suspense:' || b.bank_reference
        and l.ledger_account = 'suspense'),
    (select sum(-l.amount) from payouts p
      join ledger_entries e on e.account_id = p.account_id
        and e.key = 'return:' || p.offramp_id || ':' || p.attempt
      join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
      where p.account_id = b.account_id and p.end_to_end_id = b.end_to_end_id
        and l.ledger_account = 'suspense'),
    0) end
where outcome <> 'applied';

alter table bank_answers
  add constraint bank_answers_status_check1 check ((outcome = 'applied') = (status is null)),
  add foreign key (account_id, assigned_offramp_id) references offramps;

create index bank_answers_open on bank_answers (id) where status = 'open';
create index bank_answers_assigned on bank_answers (account_id, assigned_offramp_id)
  where assigned_offramp_id is not null;
