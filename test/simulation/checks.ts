import { sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { findFault } from "../../src/verify/verify.ts";
import { minor, type Offramp, TOKENS, type User } from "./model.ts";
import { isOrdered } from "./partners.ts";
import { endToEndId } from "./surroundings.ts";
import { Fault, type World } from "./world.ts";

/** After every step: what the partners saw is possible. */
export function checkOutside({ outside }: World): void {
  const [fault] = outside.faults;
  if (fault) throw new Fault("partners", fault);
  const last = new Map<string, number>();
  for (const { record, sequence } of outside.delivered) {
    const before = last.get(record) ?? 0;
    if (sequence < before || sequence > before + 1) {
      throw new Fault("webhooks", `${record}: event ${sequence} came after ${before}`);
    }
    last.set(record, sequence);
  }
}

/** Once everything has settled: all records and balances are as the model says. */
export async function checkModel(world: World): Promise<void> {
  checkOutside(world);
  for (const user of world.model.users) {
    await checkOfframps(world, user);
    await checkOnramps(world, user);
    await checkRefunds(world, user);
    await checkBalances(world, user);
  }
  await checkDeposits(world);
  checkStrays(world);
}

/** Nothing left for which there is no record. */
function checkStrays({ model, outside }: World): void {
  const known = new Set<string>();
  for (const { id, user } of model.refunds) known.add(`refund:${user.account.id}:${id}`);
  for (const { id, user } of model.onramps) known.add(`onramp:${user.account.id}:${id}`);
  for (const offramp of model.offramps()) {
    for (let at = 1; at <= offramp.attempt; at += 1) known.add(endToEndId(offramp, at));
  }
  for (const key of [...outside.sent.keys(), ...outside.orders.keys()]) {
    if (!known.has(key)) differ("paid under", key, "nothing", "a payment");
  }
}

function differ(what: string, id: string, expected: unknown, actual: unknown): never {
  throw new Fault("model", `${what} ${id}: expected ${expected}, got ${actual}`);
}

async function checkBalances(world: World, user: User): Promise<void> {
  const { balances } = await world.read(user.account, `/users/${user.id}/balances`);
  for (const token of TOKENS) {
    const shown = balances.find(({ currency }: { currency: string }) => currency === token);
    const actual = minor(shown?.amount ?? 0, 6);
    if (actual !== user.owed[token]) {
      differ(`balance in ${token} of`, user.id, user.owed[token], actual);
    }
  }
}

type Shown = { id: string; status: string; status_message: string | null };

/** While a gate moved, these are right; the model then goes on from what it finds. */
const OPEN = ["initiated", "ongoing_checks", "bounced", "sending_fiat", "failed"];

async function checkOfframps(world: World, user: User): Promise<void> {
  const own = world.model.offramps().filter(({ quote }) => quote.user === user);
  const { offramps } = await world.read(user.account, `/users/${user.id}/offramps?limit=100`);
  const shown = new Map<string, Shown>(offramps.map((one: Shown) => [one.id, one]));
  if (shown.size !== own.length) differ("offramps of", user.id, own.length, shown.size);
  for (const offramp of own) {
    const { status, status_message } = shown.get(offramp.id)!;
    if (offramp.is_open && OPEN.includes(status)) adopt(world, offramp, status);
    if (status !== offramp.status) {
      differ("offramp", offramp.id, offramp.status, `${status} (${status_message})`);
    }
    checkOrders(world, offramp);
  }
}

function adopt(world: World, offramp: Offramp, status: string): void {
  const has_order = (attempt: number) => isOrdered(world.outside, endToEndId(offramp, attempt));
  offramp.is_open = offramp.quote.user.blocked === null ? false : offramp.is_open;
  if (status === offramp.status) return;
  if (status === "sending_fiat") {
    while (has_order(offramp.attempt + 1)) offramp.attempt += 1;
  } else if (status === "bounced") {
    // Stopped before it left, if the bank has not got it.
    if (offramp.status === "ongoing_checks") offramp.attempt += 1;
    offramp.bounced_ms = world.clock.now().getTime();
    offramp.returned = null;
  } else if (offramp.status === "sending_fiat" && !has_order(offramp.attempt)) {
    offramp.attempt -= 1;
  }
  offramp.status = status;
}

/** The bank has the payments that it should have, and pays each offramp at most once. */
function checkOrders({ outside }: World, offramp: Offramp): void {
  const { id, amount, status, attempt } = offramp;
  let kept = 0;
  for (let number = 1; number <= attempt + 1; number += 1) {
    const name = endToEndId(offramp, number);
    const order = outside.orders.get(name);
    if (!order) continue;
    if (number > attempt) differ("the bank has", name, "nothing", "a payment");
    if (order.amount !== amount) differ("payment", name, amount, order.amount);
    const said = outside.answers.filter((one) => one.end_to_end_id === name);
    const is_booked = said.some((one) => one.kind === "booked" && one.amount === amount);
    if (is_booked && !said.some((one) => one.kind === "returned")) kept += 1;
  }
  const expected = status === "fiat_sent" ? 1 : 0;
  if (kept !== expected) differ("payments kept for offramp", id, expected, kept);
}

async function checkOnramps(world: World, user: User): Promise<void> {
  const own = world.model.onramps.filter((one) => one.user === user);
  if (own.length === 0) return;
  const { onramps } = await world.read(user.account, `/users/${user.id}/onramps?limit=100`);
  const shown = new Map<string, Shown>(onramps.map((one: Shown) => [one.id, one]));
  for (const onramp of own) {
    const { status } = shown.get(onramp.id)!;
    if (onramp.status === "paid") onramp.status = "crypto_sent";
    if (onramp.status === "open") {
      if (user.blocked === null) onramp.status = status;
    } else if (onramp.status !== status) differ("onramp", onramp.id, onramp.status, status);
    const sent = world.outside.sent.get(`onramp:${user.account.id}:${onramp.id}`);
    const tokens = status === "crypto_sent" ? onramp.tokens : undefined;
    if (sent?.amount !== tokens) differ("sent for onramp", onramp.id, tokens, sent?.amount);
  }
}

async function checkRefunds(world: World, user: User): Promise<void> {
  const own = world.model.refunds.filter((one) => one.user === user);
  if (own.length === 0) return;
  const { refunds } = await world.read(user.account, `/users/${user.id}/refunds?limit=100`);
  const shown = new Map<string, Shown>(refunds.map((one: Shown) => [one.id, one]));
  if (shown.size !== own.length) differ("refunds of", user.id, own.length, shown.size);
  for (const refund of own) {
    const { status } = shown.get(refund.id)!;
    const key = `refund:${user.account.id}:${refund.id}`;
    const is_refused = world.outside.refused.has(key);
    if (is_refused && refund.status === "sent") {
      refund.status = "failed";
      user.owed[refund.token] += refund.amount;
    }
    if (refund.status === "open") {
      if (status === "failed") user.owed[refund.token] += refund.amount;
      if (status === "failed" || status === "sent") refund.status = status;
    }
    if (refund.status !== "open" && refund.status !== status) {
      differ("refund", refund.id, refund.status, status);
    }
    const amount = status === "sent" ? refund.amount : undefined;
    const sent = world.outside.sent.get(key);
    if (sent?.amount !== amount) differ("sent for refund", refund.id, amount, sent?.amount);
  }
}

async function checkDeposits(world: World): Promise<void> {
  const { model, accounts, outside } = world;
  if (model.deposits.length === 0) return;
  const { deposits } = await world.read(accounts[0]!, "/deposits?limit=100");
  for (const deposit of model.deposits) {
    const { reference, amount, onramp } = deposit;
    const [shown, ...more] = deposits.filter(
      (one: { bank_reference: string; reason: string | null }) =>
        one.bank_reference === reference && one.reason !== "excess",
    );
    if (!shown || more.length > 0) differ("deposit", reference, 1, shown ? 2 : 0);
    if (deposit.status === "open") deposit.status = shown.status;
    // Two payments of one onramp race: one of them pays it.
    if (deposit.status !== shown.status) differ("deposit", reference, deposit.status, shown.status);
    const is_returned = shown.status === "returned";
    const returned = outside.returns.get(`deposit:${shown.id}:1`);
    if (is_returned && returned !== amount) differ("return of", reference, amount, returned);
    if (onramp && shown.status === "returned") differ("deposit", reference, "matched", "returned");
  }
}

/** `sliproad verify` of all accounts: slow. Once a seed is over, everything is sealed. */
export async function verifyBooks(world: World, is_over: boolean): Promise<void> {
  const { config, database, clock } = world.cores[0]!;
  const key = signingKey(signingSeed(config));
  if (is_over) await sealAll(database, key, clock.now());
  for (const { id } of world.accounts) {
    const fault = await database.transaction((tx) => findFault(tx, key, id, clock.now(), is_over));
    if (fault) throw new Fault("verify", fault);
  }
}

/** The list of events has each record's changes in their order, without a gap. */
export async function checkEvents(world: World): Promise<void> {
  for (const account of world.accounts) {
    const last = new Map<string, number>();
    for (let after = ""; ; ) {
      const path = `/webhook_events?limit=100${after && `&starting_after=${after}`}`;
      const { webhook_events: events, has_more } = await world.read(account, path);
      for (const { record_id, sequence } of events) {
        const before = last.get(record_id) ?? 0;
        if (sequence !== before + 1) {
          throw new Fault("events", `${record_id}: ${sequence} is listed after ${before}`);
        }
        last.set(record_id, sequence);
      }
      if (!has_more) break;
      after = events.at(-1).id;
    }
  }
}

/** The last event that a receiver got of a record says what it is now. */
export async function checkWebhooks(world: World): Promise<void> {
  const { model, accounts, outside } = world;
  const last = new Map(outside.delivered.map((one) => [one.record, one.status]));
  for (const offramp of model.offramps()) {
    if (offramp.quote.user.account !== accounts[0]) continue;
    const got = last.get(offramp.id);
    if (got === undefined && offramp.status === "initiated") continue;
    if (got !== offramp.status) {
      throw new Fault("webhooks", `${offramp.id} is ${offramp.status}; the last event says ${got}`);
    }
  }
}

/** Whether no delivery waits for another attempt. */
export async function areDelivered({ cores }: World): Promise<boolean> {
  const [waiting] = await cores[0]!.database.query(
    "select from webhook_deliveries where status = 'pending' limit 1",
  );
  return waiting === undefined;
}
