/**
 * Selects the kinds that occur in the table, as the start of a statement. PostgreSQL has no skip
 * scan for `distinct`; this steps from kind to kind through the index `tasks_due`. A table that is
 * distributed by account has no such order: there what is due is read whole, on all nodes at once.
 */
export const KINDS = `
  with recursive steps as (
    (select kind from tasks order by kind limit 1)
    union all
    select (select t.kind from tasks t where t.kind > steps.kind order by t.kind limit 1)
    from steps where steps.kind is not null
  ), kinds as (select kind from steps where kind is not null)`;
