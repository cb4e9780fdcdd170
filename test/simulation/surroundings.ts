import type { BankAnswer } from "../../src/partners/bank/port.ts";
import { sandboxBankAccount } from "../../src/partners/bank/sandbox.ts";
import { takeFiles } from "./file-bank.ts";
import { divideUp, minor, type Offramp, type Onramp } from "./model.ts";
import { expectAnswer, pay } from "./payouts.ts";
import { ADDRESS, type People } from "./people.ts";
import { Fault, type World } from "./world.ts";

const MINUTE_MS = 60_000;
const LEAPS_MS = [20, 45, 45, 180, 180, 80 * 60].map((minutes) => minutes * MINUTE_MS);
const DAY_MS = 24 * 60 * MINUTE_MS;
const LARGE = 1_000_000n;

export function endToEndId({ id }: Offramp, attempt: number): string {
  return `${id.replaceAll("-", "")}${String(attempt).padStart(3, "0")}`;
}

/** The bank decides on payments that it has, in its own order, and sometimes says nonsense. */
export async function bankDecides(world: World): Promise<void> {
  const { model, random, outside, clock, files } = world;
  await takeFiles(world);
  const decided = new Map(outside.answers.map((one) => [one.end_to_end_id, one.kind]));
  for (const offramp of model.offramps()) {
    const { attempt, amount } = findOrder(world, offramp);
    if (attempt === 0 || random.chance(0.3)) continue;
    const id = endToEndId(offramp, attempt);
    const before = decided.get(id);
    const what = random.next();
    if (before === undefined) {
      if (what < 0.6 || attempt > 1) say(world, offramp, attempt, "booked", amount);
      else if (what < 0.8) say(world, offramp, attempt, "rejected", amount);
      else say(world, offramp, attempt, "returned", amount);
    } else if (before === "booked" && what < 0.4) {
      const is_whole = random.chance(0.4) || amount > LARGE;
      const cost = is_whole ? 0n : amount / 200n;
      say(world, offramp, attempt, "returned", amount - cost);
    } else if (what > 0.9) {
      // An answer that contradicts itself: it moves nothing.
      push(world, id, "booked", amount + 1n, offramp.quote.user.account.id);
    }
  }
  const [first] = outside.answers;
  if (first && random.chance(0.3)) outside.answers.push(random.pick(outside.answers));
  files?.report(outside, random, clock.now());
}

/** The last attempt that reached the bank. */
function findOrder({ outside }: World, offramp: Offramp): { attempt: number; amount: bigint } {
  let attempt = 0;
  while (outside.orders.has(endToEndId(offramp, attempt + 1))) attempt += 1;
  return { attempt, amount: offramp.amount };
}

function say(
  world: World,
  offramp: Offramp,
  attempt: number,
  kind: BankAnswer["kind"],
  amount: bigint,
): void {
  const { user } = offramp.quote;
  user.is_busy = true;
  push(world, endToEndId(offramp, attempt), kind, amount, user.account.id);
  world.model.said.push({ offramp, attempt, kind, amount });
}

function push(
  { outside }: World,
  end_to_end_id: string,
  kind: BankAnswer["kind"],
  amount: bigint,
  account_id: string,
): void {
  const own = sandboxBankAccount("eur");
  outside.answers.push({
    ...{ account_id, end_to_end_id, bank_reference: `answer-${outside.answers.length}` },
    ...{ bank_account: kind === "rejected" ? null : own, paid_from: own, kind, amount },
    ...{ currency: "eur", trace_number: null, uetr: null, reasons: [] },
  });
}

/** A reviewer suspends a user, or the operator freezes one; and lets them go again. */
export async function moveGate(world: World): Promise<void> {
  const { model, random, accounts } = world;
  const user = random.pick(model.users);
  const by = user.blocked ?? random.pick(["suspended", "frozen"] as const);
  const is_blocking = user.blocked === null;
  const path = `/users/${user.id}`;
  const kyc = { status: is_blocking ? "suspended" : "approved" };
  const reason = "simulated";
  const answer =
    by === "suspended"
      ? await world.command(user.account, "PATCH", `/sandbox${path}/kycs`, { kyc })
      : await world.command(
          accounts[0]!,
          "POST",
          `${path}/${is_blocking ? "freeze" : "unfreeze"}`,
          { reason },
        );
  expectAnswer(answer, 200, `${by} ${user.id}`);
  user.blocked = is_blocking ? by : null;
  // What was under way may have passed the gate, or not.
  for (const one of model.offramps()) {
    if (one.quote.user === user && !["fiat_sent", "failed"].includes(one.status)) {
      one.is_open = true;
    }
  }
  for (const one of model.onramps) if (one.user === user) one.status = "open";
  for (const one of model.refunds) {
    if (one.user === user && one.status === "pending") one.status = "open";
  }
}

/** Two members decide on a proposal. */
export async function vote(world: World, people: People): Promise<void> {
  const { model, random } = world;
  const waiting = model.quotes.filter(({ approval }) => approval?.status === "pending");
  if (waiting.length === 0) return pay(world);
  const { approval, user } = random.pick(waiting);
  const members = people.members.filter((one) => one.account_id === user.account.id);
  if (user.is_busy) return;
  if (random.chance(0.25)) {
    if (await members[1]!.reject(approval!.id)) approval!.status = "refused";
  } else {
    const confirmed = [];
    for (const member of members) confirmed.push(await member.confirm(approval!.id));
    if (confirmed.every((one) => one)) approval!.status = "done";
  }
  user.is_busy = true;
}

/** The clock leaps, and everything that is due then is done. */
export async function leap(world: World): Promise<void> {
  await world.finish();
  const ms = world.random.pick(LEAPS_MS);
  await world.clock.advance(ms);
  await world.finish(ms > 60 * MINUTE_MS);
}

export async function openOnramp(world: World): Promise<void> {
  const { model, random, clock } = world;
  const user = random.pick(model.users);
  const tokens = BigInt(20 + random.below(900)) * 1_000_000n + BigInt(random.below(1_000_000));
  const terms = {
    ...{ destination_amount: Number(tokens) / 1e6, destination_address: ADDRESS },
    ...{ crypto_currency: "usdc", crypto_rails: "polygon" },
    ...{ fiat_currency: "usd", fiat_rails: "ach_push" },
  };
  const path = `/users/${user.id}/onramps`;
  const answer = await world.command(user.account, "POST", path, { onramp: terms });
  expectAnswer(answer, user.blocked ? 422 : 200, "an onramp");
  if (answer.status !== 200) return;
  const { id, fee, deposit_amount, deposit_instructions } = answer.body.onramp;
  const expected_fee = divideUp(tokens * 40n, 100_000_000n);
  const deposit = divideUp(tokens, 10_000n) + expected_fee;
  const is_exact = minor(deposit_amount, 2) === divideUp(tokens + 10_000n * expected_fee, 10_000n);
  if (minor(fee, 2) !== expected_fee || !is_exact) {
    throw new Fault("model", `onramp of ${tokens}: fee ${fee}, deposit ${deposit_amount}`);
  }
  const created_ms = clock.now().getTime();
  const code = deposit_instructions.deposit_message;
  model.onramps.push({ id, user, tokens, deposit, code, created_ms, status: "initiated" });
}

/** Money arrives at the bank: right, wrong, or twice. */
export async function receiveFiat(world: World): Promise<void> {
  const { model, random, clock, outside } = world;
  if (model.onramps.length === 0) await openOnramp(world);
  if (model.onramps.length === 0) return;
  const onramp = random.pick(model.onramps.slice(-3));
  const { deposit, user } = onramp;
  const amount = random.pick([deposit, deposit, deposit, deposit, deposit - 1n, deposit + 250n]);
  const text = random.pick([onramp.code, onramp.code, `inv 7 ${onramp.code}`, "no code"]);
  const reference = `line-${outside.credits.length}`;
  const line = {
    ...{ bank_account: "main-usd", bank_reference: reference, amount, currency: "usd", text },
    ...{ payer_name: "Invented Payer", booked_at: clock.now() },
  };
  outside.credits.push(line);
  if (random.chance(0.3)) outside.credits.push(line);
  user.is_busy = true;
  const is_late = clock.now().getTime() > onramp.created_ms + DAY_MS;
  const is_exact = amount === deposit && text !== "no code" && !is_late;
  const takes = is_exact && ["initiated", "open"].includes(onramp.status);
  if (takes && onramp.status === "initiated") onramp.status = "paid";
  const status = onramp.status === "open" ? "open" : takes ? "matched" : "unmatched";
  model.deposits.push({ reference, amount, onramp: takes ? onramp : null, status });
}

/** The operator returns money that matched nothing, or accepts it for an onramp. */
export async function decideDeposit(world: World): Promise<void> {
  const { model, random, accounts } = world;
  const waiting = model.deposits.filter(({ status }) => status === "unmatched");
  if (waiting.length === 0) return receiveFiat(world);
  const chosen = random.pick(waiting);
  const path = "/deposits?status=unmatched&limit=100";
  const { deposits } = await world.read(accounts[0]!, path);
  const found = deposits.find(
    (one: { bank_reference: string }) => one.bank_reference === chosen.reference,
  );
  // It has not been read yet.
  if (!found) return;
  const open = model.onramps.filter(({ status, user }) => status === "initiated" && !user.is_busy);
  const onramp: Onramp | undefined = random.chance(0.5) ? random.pick(open) : undefined;
  if (!onramp || onramp.user.blocked) {
    const answer = await world.command(accounts[0]!, "POST", `/deposits/${found.id}/return`);
    expectAnswer(answer, 200, `return ${chosen.reference}`);
    chosen.status = "returned";
    return;
  }
  const action = chosen.amount === onramp.deposit ? "match" : "accept_difference";
  const body = { deposit: { onramp_id: onramp.id } };
  const answer = await world.command(accounts[0]!, "POST", `/deposits/${found.id}/${action}`, body);
  expectAnswer(answer, 200, `${action} ${chosen.reference}`);
  onramp.status = "paid";
  onramp.user.is_busy = true;
  chosen.status = "matched";
  chosen.onramp = onramp;
}

/** Invoices are made, cancelled once, and refuse to be cancelled again. */
export async function invoice(world: World): Promise<void> {
  const { model, random, accounts } = world;
  const [known] = model.invoices.slice(-1);
  if (!known || random.chance(0.5)) {
    const account = random.pick(accounts);
    const number = `S-${model.invoices.length + 1}`;
    const unit = 1 + random.below(99_999);
    const quantity = 1 + random.below(3);
    const body = {
      ...{ invoiceNumber: number, convert: true },
      invoiceItems: [{ name: "Work", currency: "EUR", quantity, unitPrice: String(unit) }],
      buyerInfo: { email: "buyer@example.com", businessName: "Invented Buyer" },
      paymentOptions: [
        {
          type: "wallet",
          value: {
            currencies: ["USDC-matic"],
            paymentInformation: { paymentAddress: `0x${"ab".repeat(20)}`, chain: "matic" },
          },
        },
      ],
    };
    const answer = await world.command(account, "POST", "/invoices", body);
    expectAnswer(answer, 200, "an invoice");
    const { id, total, status } = answer.body;
    if (total !== String(unit * quantity) || status !== "open") {
      throw new Fault("model", `invoice of ${quantity} times ${unit}: ${answer.text}`);
    }
    model.invoices.push({ id, account, status });
    return;
  }
  const path = `/invoices/${known.id}/changes`;
  const answer = await world.command(known.account, "POST", path, { type: "cancel" });
  expectAnswer(answer, known.status === "open" ? 200 : 422, `cancel ${known.id}`);
  if (answer.status === 200) known.status = "canceled";
}
