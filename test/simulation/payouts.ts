import { txId } from "../harness/ramp.ts";
import {
  due,
  minor,
  type Offramp,
  priceOf,
  type Quote,
  readRate,
  TOKENS,
  type Token,
  type User,
} from "./model.ts";
import { ADDRESS } from "./people.ts";
import type { Answer } from "./process.ts";
import { Fault, type World } from "./world.ts";

/** In cents: above what needs approval and a document, and what an ordinary payout may be. */
const LARGE = 12_000_000n;
const SMALLEST = 2_000;
const SPAN = 48_000;
const REFUND_MAX = 2_000_000_000n;
const TOKEN = 1_000_000n;
const LATE_MS = 45 * 60_000;

/** Compares an answer with what the model says. */
export function expectAnswer(answer: Answer, status: number, context: string): void {
  if (answer.status === status) return;
  throw new Fault("model", `${context}: expected ${status}, got ${answer.status} ${answer.text}`);
}

export async function openQuote(world: World, user = world.random.pick(world.model.users)) {
  const { random, model } = world;
  const token = random.pick(TOKENS);
  const terms = { deposit_token: token, deposit_token_chain: "polygon" };
  const path = `/users/${user.id}/quotes`;
  const made = await world.command(user.account, "POST", path, { quote: terms });
  expectAnswer(made, 200, "a quote");
  const { id, expiry } = made.body.quote;
  const quote: Quote = {
    ...{ id, user, token, address: made.body.deposit_address.address, expires_ms: expiry * 1000 },
    ...{ offramps: [], tx_id: null, is_executed: false, is_funded: false, is_closed: false },
    ...{ shortfall: 0n, from_balance: 0n, received: [], approval: null },
  };
  model.quotes.push(quote);
  const is_large = random.chance(0.08);
  const count = is_large ? 1 : 1 + random.below(3);
  const amounts = Array.from({ length: count }, () =>
    is_large ? LARGE : BigInt(SMALLEST + random.below(SPAN)),
  );
  await addOfframps(world, quote, amounts);
  return quote;
}

async function addOfframps(world: World, quote: Quote, amounts: readonly bigint[]): Promise<void> {
  const { user } = quote;
  const document = { submitted_url: "https://files.test/invoice.pdf" };
  const items = amounts.map((amount) => ({
    payment_detail_id: world.random.pick(user.details),
    destination_amount: cents(amount),
    destination_currency: "eur",
    ...(amount >= LARGE ? { supporting_document_attributes: document } : {}),
  }));
  const path = `/users/${user.id}/quotes/${quote.id}`;
  const answer = await world.command(user.account, "POST", `${path}/offramps`, { offramps: items });
  expectAnswer(answer, 200, "offramps");
  for (const [at, { id, fee, rate, status }] of answer.body.offramps.entries()) {
    const amount = amounts[at]!;
    const price = priceOf(amount, readRate(rate));
    if (minor(fee, 2) !== price.fee || status !== "initiated") {
      throw new Fault("model", `offramp of ${amount}: fee ${fee}, expected ${price.fee}`);
    }
    quote.offramps.push({
      ...{ id, quote, amount, rate: readRate(rate), status, ...price, attempt: 0, returned: null },
      ...{ bounced_ms: 0, needs_document: false, is_open: false },
    });
  }
  const shown = (await world.read(user.account, path)).quote.deposit_token_amount;
  if (minor(shown, 6) !== due(quote)) {
    throw new Fault("model", `quote ${quote.id} costs ${shown}, expected ${due(quote)}`);
  }
}

/** Of these, one of the last; undefined if there is none. */
function recent<Item>(world: World, list: readonly Item[]): Item | undefined {
  return list.length === 0 ? undefined : world.random.pick(list.slice(-3));
}

/** Somebody pays a quote: exactly, or not quite, and sometimes in another token. */
export async function pay(world: World, given?: Quote): Promise<void> {
  const { random, model, clock, outside } = world;
  const quote = given ?? recent(world, model.quotes) ?? (await openQuote(world));
  // Whether two transfers are read together or one by one can decide what is short.
  if (model.arrivals.some((one) => one.quote === quote)) return;
  const total = due(quote);
  const shares = [total, total, total, total, total / 2n, (total * 97n) / 100n, total * 2n];
  const amount = random.pick([...shares, total - 1n, total - 20_000n, total + 5n * TOKEN]);
  const token: Token = random.chance(0.06)
    ? quote.token === "usdc"
      ? "usdt"
      : "usdc"
    : quote.token;
  const is_first = quote.received.length === 0;
  const name = is_first ? quote.id : `${quote.id} ${outside.transfers.length}`;
  const transfer = {
    ...{ chain: "polygon" as const, tx_id: txId(name), log_index: outside.transfers.length },
    ...{ address: quote.address, sender: ADDRESS, token, amount, mined_at: clock.now() },
  };
  outside.transfers.push(transfer);
  // Nodes repeat themselves.
  if (random.chance(0.1)) outside.transfers.push(transfer);
  const { user } = quote;
  user.is_busy = true;
  model.arrivals.push({ user, quote, token, amount, mined_ms: clock.now().getTime() });
}

export async function execute(world: World, given?: Quote): Promise<void> {
  const { random, model } = world;
  const quote = given ?? recent(world, model.quotes) ?? (await openQuote(world));
  const path = `/users/${quote.user.id}/quotes/${quote.id}/execute`;
  const body = (tx_id: string) => ({
    quote: { crypto_transfer: { tx_id, blockchain: "polygon", network: "amoy" } },
  });
  const own = quote.tx_id ?? txId(quote.id);
  const { account } = quote.user;
  if (quote.tx_id === null && random.chance(0.15)) return raceExecutions(world, quote, path, body);
  const expected = mayExecute(world, quote, own) ? 200 : 422;
  const answer = random.chance(0.2)
    ? await world.twice(account, path, body(own))
    : await world.command(account, "POST", path, body(own));
  expectAnswer(answer, expected, `execute ${quote.id}`);
  if (answer.status === 200) noteExecution(world, quote, own, answer);
}

function mayExecute({ clock }: World, quote: Quote, tx_id: string): boolean {
  if (quote.tx_id === tx_id) return true;
  if (quote.user.blocked || quote.is_closed || quote.is_funded) return false;
  return clock.now().getTime() < quote.expires_ms;
}

function noteExecution(world: World, quote: Quote, tx_id: string, { body }: Answer): void {
  const is_large = quote.offramps.some(({ amount }) => amount >= LARGE);
  if (is_large !== Boolean(body.approval)) {
    throw new Fault("model", `quote ${quote.id}: approval ${JSON.stringify(body.approval)}`);
  }
  quote.user.is_busy = true;
  quote.tx_id = tx_id;
  quote.is_executed = true;
  if (!body.approval || quote.approval) return;
  const asked_ms = world.clock.now().getTime();
  quote.approval = { id: body.approval.proposal_id, status: "pending", asked_ms };
}

/** Two transfers are named at once: one of them is the quote's. */
async function raceExecutions(
  world: World,
  quote: Quote,
  path: string,
  body: (tx_id: string) => unknown,
): Promise<void> {
  const ids = [txId(quote.id), txId(`${quote.id} other`)];
  const may = mayExecute(world, quote, "");
  const answers = await Promise.all(
    ids.map((id) => world.command(quote.user.account, "POST", path, body(id))),
  );
  const taken = answers.filter(({ status }) => status === 200);
  if (taken.length !== (may ? 1 : 0)) {
    throw new Fault("model", `${taken.length} of two executions of ${quote.id} were accepted`);
  }
  const at = answers.findIndex(({ status }) => status === 200);
  if (at >= 0) noteExecution(world, quote, ids[at]!, answers[at]!);
}

/** The intended use, in either order. */
export async function payAndExecute(world: World): Promise<void> {
  const quote = await openQuote(world);
  const is_paid_first = world.random.chance(0.5);
  if (is_paid_first) await pay(world, quote);
  await execute(world, quote);
  if (!is_paid_first) await pay(world, quote);
}

/** A quote is executed in time and paid after its expiry. */
export async function payLate(world: World): Promise<void> {
  const quote = await openQuote(world);
  await execute(world, quote);
  await world.finish();
  await world.clock.advance(LATE_MS);
  await pay(world, quote);
  await world.finish();
}

/** Coins that came for a quote that is not executed belong to nobody's plan yet. */
function isPlain(world: World, user: User): boolean {
  const { quotes } = world.model;
  const loose = quotes.some((one) => one.user === user && !one.is_executed && !one.is_closed);
  return !user.is_busy && !loose;
}

function pickOwed(world: World): { user: User; token: Token; free: bigint } | undefined {
  const { model } = world;
  const all = model.users.flatMap((user) =>
    TOKENS.map((token) => ({ user, token, free: model.free(user, token) })),
  );
  const usable = all.filter(({ user, free }) => isPlain(world, user) && free > 2n * TOKEN);
  return usable.length === 0 ? undefined : world.random.pick(usable);
}

async function askRefund(world: World, user: User, token: Token, amount: bigint): Promise<Answer> {
  const refund = { token, chain: "polygon", amount: tokens(amount), address: ADDRESS };
  return world.command(user.account, "POST", `/users/${user.id}/refunds`, { refund });
}

function noteRefund({ model, outside, random }: World, user: User, token: Token, answer: Answer) {
  const { id, amount } = answer.body.refund;
  const taken = minor(amount, 6);
  user.owed[token] -= taken;
  user.is_busy = true;
  const key = `refund:${user.account.id}:${id}`;
  const is_refused = !outside.sent.has(key) && random.chance(0.2);
  if (is_refused) outside.refused.add(key);
  model.refunds.push({ id, user, token, amount: taken, status: "pending" });
}

export async function refund(world: World): Promise<void> {
  const found = pickOwed(world);
  if (!found) return payAndExecute(world);
  const { user, token, free } = found;
  const wanted = world.random.pick([free, free / 2n, free + 1n, free * 2n, 900_000n]);
  const amount = wanted > REFUND_MAX ? REFUND_MAX : wanted;
  if (user.blocked === "suspended") return;
  const may = amount <= free && amount >= TOKEN && user.blocked === null;
  const answer = await askRefund(world, user, token, amount);
  expectAnswer(answer, may ? 200 : 422, `refund ${amount} of ${free}`);
  if (may) noteRefund(world, user, token, answer);
}

/** More is asked for, at once, than there is. */
export async function raceRefunds(world: World): Promise<void> {
  const found = pickOwed(world);
  if (!found || found.user.blocked || found.free > REFUND_MAX) return payAndExecute(world);
  const { user, token, free } = found;
  const amount = (free * 6n) / 10n;
  const answers = await Promise.all([1, 2, 3].map(() => askRefund(world, user, token, amount)));
  const taken = answers.filter(({ status }) => status === 200);
  if (taken.length !== 1) {
    throw new Fault("model", `${taken.length} refunds of ${amount} were taken from ${free}`);
  }
  noteRefund(world, user, token, taken[0]!);
}

/** A new quote is paid from the balance; sometimes a refund of the same coins is asked for too. */
export async function fund(world: World): Promise<void> {
  const found = pickOwed(world);
  if (!found || found.free > REFUND_MAX) return payAndExecute(world);
  const { user } = found;
  const quote = await openQuote(world, user);
  const free = world.model.free(user, quote.token);
  const is_large = quote.offramps.some(({ amount }) => amount >= LARGE);
  const path = `/users/${user.id}/quotes/${quote.id}/fund`;
  const total = due(quote);
  if (is_large) return;
  const amount = (free * 6n) / 10n;
  const is_race = !user.blocked && amount >= TOKEN && world.random.chance(0.4);
  const [answer, other] = await Promise.all([
    world.command(user.account, "POST", path),
    is_race ? askRefund(world, user, quote.token, amount) : null,
  ]);
  const taken = other?.status === 200 ? amount : 0n;
  expectAnswer(answer, !user.blocked && free > 0n ? 200 : 422, `fund ${total} of ${free}`);
  // Whoever is second gets what is left.
  if (is_race && taken === 0n && free - amount >= total) {
    throw new Fault("model", `a refund of ${amount} was refused: ${other?.text}`);
  }
  if (taken > 0n) noteRefund(world, user, quote.token, other!);
  if (answer.status !== 200) return;
  quote.is_executed = true;
  user.is_busy = true;
  if (free - taken >= total) world.model.markFunded(quote, total);
  else quote.from_balance = free - taken;
}

export async function reroute(world: World): Promise<void> {
  const bounced = world.model.offramps().filter((one) => canMove(one, ["bounced"]));
  const offramp = recent(world, bounced);
  if (!offramp) return pay(world);
  const is_race = world.random.chance(0.4);
  const [answer, other] = await Promise.all([
    askReroute(world, offramp),
    is_race ? askGiveUp(world, offramp) : null,
  ]);
  const taken = [answer, other].filter((one) => one?.status === 200);
  const { blocked } = offramp.quote.user;
  const expected = blocked && !is_race ? 0 : 1;
  if (taken.length !== expected) {
    throw new Fault("model", `${taken.length} changes of bounced ${offramp.id}: ${answer.text}`);
  }
  if (answer.status === 200) {
    offramp.status = "sending_fiat";
    offramp.attempt += 1;
    offramp.returned = null;
  } else if (other?.status === 200) world.model.giveBack(offramp);
  offramp.quote.user.is_busy = true;
}

function canMove(offramp: Offramp, statuses: readonly string[]): boolean {
  const { user } = offramp.quote;
  return !user.is_busy && !offramp.is_open && statuses.includes(offramp.status);
}

async function askReroute(world: World, { id, quote }: Offramp): Promise<Answer> {
  const { user } = quote;
  const change = { offramp: { payment_detail_id: world.random.pick(user.details) } };
  return world.command(user.account, "POST", `/users/${user.id}/offramps/${id}/reroute`, change);
}

function askGiveUp(world: World, { id, quote: { user } }: Offramp): Promise<Answer> {
  return world.command(user.account, "POST", `/users/${user.id}/offramps/${id}/refund`);
}

export async function giveUp(world: World): Promise<void> {
  const all = world.model.offramps().filter(({ quote }) => quote.is_funded);
  const offramp = recent(
    world,
    all.filter((one) => canMove(one, ["bounced", "ongoing_checks"])),
  );
  const wrong = recent(
    world,
    all.filter((one) => canMove(one, ["fiat_sent", "failed"])),
  );
  const chosen = offramp ?? wrong;
  if (!chosen) return pay(world);
  // What waits for approval is decided there.
  if (chosen.quote.approval?.status === "pending") return;
  const answer = await askGiveUp(world, chosen);
  expectAnswer(answer, offramp ? 200 : 422, `give up ${chosen.id} in ${chosen.status}`);
  if (offramp) world.model.giveBack(offramp);
}

function cents(amount: bigint): number {
  return Number(amount) / 100;
}

function tokens(amount: bigint): string {
  const text = amount.toString().padStart(7, "0");
  const decimals = text.slice(-6).replace(/0+$/, "");
  return text.slice(0, -6) + (decimals === "" ? "" : `.${decimals}`);
}
