import { FIRST_BALANCE, type Offramp, sum, TOLERANCE, type Token, type User } from "./model.ts";
import type { Outside } from "./partners.ts";
import { endToEndId } from "./surroundings.ts";
import { Fault, type World } from "./world.ts";

/*
 * What the contract says of the ledger (§9), in a form that is cheap enough for every step: two
 * statements, whatever is under way. They share no code with `verify`, which runs at the end of a
 * seed.
 */

/** A state further on has a higher rank; those of the same rank exclude each other. */
const RANKS: Record<string, Record<string, number>> = {
  offramp: {
    ...{ initiated: 0, pending_internal_assessment: 1, ongoing_checks: 2, sending_fiat: 3 },
    ...{ fiat_sent: 4, bounced: 5, failed: 6 },
  },
  payout: { recorded: 0, submitting: 1, sent: 2, booked: 3, returned: 4, rejected: 4 },
  onramp: { initiated: 0, sending_fiat: 1, crypto_sent: 2, failed: 2 },
  refund: { pending: 0, sending: 1, sent: 2, failed: 2 },
  quote: { open: 0, executed: 1, funded: 2, closed: 3 },
};

/** One row per rule that is broken. */
const LEDGER = `
  select format('entry %s sums to %s %s', entry_id, sum(amount), currency) as fault
  from ledger_lines group by account_id, entry_id, currency having sum(amount) <> 0
  union all
  select format('%s is stored as %s %s, its lines sum to %s', l.name, b.balance, l.currency, l.sum)
  from (
    select account_id, ledger_account as name, currency, -sum(amount) as sum from ledger_lines
    where ledger_account ~ '^(owed|payout_pending|refund_pending|onramp):'
    group by account_id, ledger_account, currency
  ) as l
  left join ledger_balances b on b.account_id = l.account_id and b.ledger_account = l.name
    and b.currency = l.currency
  where l.sum <> coalesce(b.balance, 0) or l.sum < 0
  union all
  select format('offramp %s is %s and %s %s are pending', o.id, o.status, b.balance, b.currency)
  from offramps o
  join ledger_balances b on b.account_id = o.account_id
    and b.ledger_account = 'payout_pending:' || o.id
  where o.status in ('fiat_sent', 'failed') and b.balance <> 0
  union all
  select format('refund %s is %s and %s are pending', r.id, r.status, b.balance)
  from refunds r
  join ledger_balances b on b.account_id = r.account_id
    and b.ledger_account = 'refund_pending:' || r.id
  where r.status in ('sent', 'failed') and b.balance <> 0
  limit 1`;

const STATES = `
  select 'offramp' as kind, id::text, status, attempt, sequence from offramps
  union all
  select 'payout', end_to_end_id, status, attempt, 0 from payouts
  union all
  select 'onramp', id::text, status, 0, sequence from onramps
  union all
  select 'refund', id::text, status, 0, 0 from refunds
  union all
  select 'quote', id::text, case when closed_at is not null then 'closed'
    when funded_at is not null then 'funded'
    when executed_at is not null then 'executed' else 'open' end, 0, 0 from quotes
  union all
  select 'owed', split_part(ledger_account, ':', 2) || ' ' || currency, balance::text, 0, 0
  from ledger_balances where starts_with(ledger_account, 'owed:')
  union all
  select 'bank', e.key, sum(l.amount)::text, 0, 0 from ledger_entries e
  join ledger_lines l on l.account_id = e.account_id and l.entry_id = e.id
  where e.kind in ('payout_booked', 'payout_returned') and starts_with(l.ledger_account, 'bank')
  group by e.account_id, e.key`;

type State = { kind: string; id: string; status: string; attempt: number; sequence: number };

/** The states that were seen in a seed. */
export type Seen = Map<string, State>;

/** After every step, also after one in which a process ended. */
export async function checkInvariants(world: World, seen: Seen): Promise<void> {
  const { database } = world.cores[0]!;
  const [broken] = await database.query<{ fault: string }>(LEDGER);
  if (broken) throw new Fault("invariants", broken.fault);
  const states = await database.query<State>(STATES);
  const { owed = [], bank = [], ...records } = Object.groupBy(states, ({ kind }) => kind);
  for (const state of Object.values(records).flatMap((list) => list ?? [])) checkMove(seen, state);
  checkOwed(world, owed);
  checkBank(world, bank);
  checkPaidOnce(world);
}

/** What an entry says of our account at the bank is what the bank had said. */
function checkBank({ model, outside }: World, entries: readonly State[]): void {
  const offramps = new Map(model.offramps().map((one) => [one.id, one]));
  for (const { id: key, status: posted } of entries) {
    const [what, id, attempt] = key.split(":");
    const offramp = offramps.get(id!);
    // One of a request whose answer is not known yet.
    if (!offramp) continue;
    const order = endToEndId(offramp, Number(attempt));
    const returned = outside.answers.find(
      (one) => one.end_to_end_id === order && one.kind === "returned",
    );
    const expected = what === "book" ? -offramp.amount : returned?.amount;
    if (BigInt(posted) !== expected) {
      throw new Fault("invariants", `${key} posts ${posted}, the bank said ${expected}`);
    }
  }
}

/** Records move forward only; every change of an offramp or onramp has a number. */
function checkMove(seen: Seen, state: State): void {
  const { kind, id, status, attempt, sequence } = state;
  const key = `${kind} ${id}`;
  const before = seen.get(key);
  seen.set(key, state);
  if (!before) return;
  const is_changed = before.status !== status;
  const rank = (of: string) => RANKS[kind]![of]!;
  const is_forward = attempt > before.attempt || rank(status) > rank(before.status);
  const is_numbered = kind === "offramp" || kind === "onramp";
  if (is_changed && !is_forward) {
    throw new Fault("invariants", `${key} went from ${before.status} to ${status}`);
  }
  if (attempt < before.attempt || sequence < before.sequence) {
    throw new Fault("invariants", `${key} went back to change ${sequence} of attempt ${attempt}`);
  }
  if (is_changed && is_numbered && sequence === before.sequence) {
    throw new Fault("invariants", `${key} is ${status} now, without a new number`);
  }
}

/** Nobody is owed more than came in for them, without what has left and not come back. */
function checkOwed(world: World, rows: readonly State[]): void {
  for (const { id, status } of rows) {
    const [user_id, token] = id.split(" ");
    const user = world.model.users.find((one) => one.id === user_id)!;
    const limit = mostOwed(world, user, token as Token);
    if (BigInt(status) > limit) {
      throw new Fault("invariants", `${id} are owed: ${status}, at most ${limit} can be`);
    }
  }
}

function mostOwed({ model, outside }: World, user: User, token: Token): bigint {
  const quotes = model.quotes.filter((one) => one.user === user);
  const addresses = new Set(quotes.map(({ address }) => address));
  const own = outside.transfers.filter((one) => one.token === token && addresses.has(one.address));
  const received = new Map(own.map((one) => [`${one.tx_id} ${one.log_index}`, one]));
  const refunded = model.refunds.filter(
    ({ id, ...one }) =>
      one.user === user &&
      one.token === token &&
      outside.sent.has(`refund:${user.account.id}:${id}`),
  );
  let most = FIRST_BALANCE + sum([...received.values()]) - sum(refunded);
  const back = cameBack(outside);
  for (const offramp of quotes.flatMap((one) => (one.token === token ? one.offramps : []))) {
    if (listOrders(outside, offramp).every((id) => back.has(id))) continue;
    // A deposit may have been a little short.
    most -= offramp.token_amount - TOLERANCE;
  }
  return most;
}

/** The bank gets another attempt only after the last one came back. */
function checkPaidOnce({ model, outside }: World): void {
  const back = cameBack(outside);
  for (const offramp of model.offramps()) {
    const kept = listOrders(outside, offramp).filter((id) => !back.has(id));
    if (kept.length > 1) throw new Fault("invariants", `the bank pays ${kept.join(" and ")}`);
  }
}

function cameBack({ answers }: Outside): ReadonlySet<string> {
  return new Set(answers.filter(({ kind }) => kind !== "booked").map((one) => one.end_to_end_id));
}

/** What the bank has of an offramp, whatever its ids end with. */
function listOrders({ orders }: Outside, { id }: Offramp): string[] {
  const start = id.replaceAll("-", "");
  return [...orders.keys()].filter((one) => one.startsWith(start));
}
