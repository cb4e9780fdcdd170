import type { Transfer } from "../../src/partners/chain/port.ts";
import { txId } from "../harness/ramp.ts";
import {
  areDelivered,
  checkEvents,
  checkModel,
  checkOutside,
  checkWebhooks,
  verifyBooks,
} from "./checks.ts";
import { checkFiles, noteLeft, takeFiles } from "./file-bank.ts";
import { type Installation, openInstallation, type SimulatedBank } from "./installation.ts";
import { checkInvariants, type Seen } from "./invariants.ts";
import { FIRST_BALANCE, Model, TOKENS } from "./model.ts";
import { isOrdered } from "./partners.ts";
import * as payouts from "./payouts.ts";
import { ADDRESS, addPeople, type People } from "./people.ts";
import { createRandom, type Random } from "./random.ts";
import * as around from "./surroundings.ts";
import { Fault, openWorld, type World } from "./world.ts";

type Action = (world: World, people: People) => Promise<unknown>;

/** How often each is chosen. `alone`: nothing else runs beside it. */
const ACTIONS: { name: string; act: Action; weight: number; alone?: boolean }[] = [
  { name: "pay and execute a new quote", act: payouts.payAndExecute, weight: 8 },
  { name: "pay a quote", act: (world) => payouts.pay(world), weight: 2 },
  { name: "execute a quote", act: (world) => payouts.execute(world), weight: 2 },
  { name: "pay too late", act: payouts.payLate, weight: 2, alone: true },
  { name: "bank decides", act: around.bankDecides, weight: 7 },
  { name: "re-route", act: payouts.reroute, weight: 3 },
  { name: "give up", act: payouts.giveUp, weight: 2 },
  { name: "refund a balance", act: payouts.refund, weight: 3 },
  { name: "several refunds at once", act: payouts.raceRefunds, weight: 2 },
  { name: "fund from the balance", act: payouts.fund, weight: 3 },
  { name: "move a gate", act: around.moveGate, weight: 2, alone: true },
  { name: "members vote", act: around.vote, weight: 2, alone: true },
  { name: "leap", act: around.leap, weight: 2, alone: true },
  { name: "open an onramp", act: around.openOnramp, weight: 2 },
  { name: "fiat arrives", act: around.receiveFiat, weight: 3 },
  { name: "operator decides on a deposit", act: around.decideDeposit, weight: 2 },
  { name: "invoice", act: around.invoice, weight: 1 },
];
const CHOICES = ACTIONS.flatMap((one) => Array.from({ length: one.weight }, () => one));

export const STEPS = 10;
const SETTLED = 0.45;
const CRASHES = 0.5;
const AWAITS_MAX = 50;
/** How often a call of a partner fails, by step. */
const FAILURES = [0, 0, 0.06, 0.2];
/** How many sets of tasks a worker takes: beside a caller, and after. */
const SETS_BESIDE_MAX = 4;
const SETS_AFTER_MAX = 8;
/** Of the steps in which a process ended: the others are verified with those that follow. */
const VERIFIED = 0.1;
const QUOTE_ENDED_MS = 2 * 3_600_000;
/** Until deliveries that failed have been tried again. */
const RETRIES_MS = [6_000, 35_000, 330_000, 1_900_000];

export type Failure = { check: string; message: string; step: number; names: string[] };

export type Simulator = {
  /** Null when everything held. `only`: the steps to take, by their numbers. */
  run(seed: number, only?: readonly number[]): Promise<Failure | null>;
  close(): Promise<void>;
};

export async function openSimulator(
  server_url: string,
  bank: SimulatedBank = "memory",
): Promise<Simulator> {
  const installation = await openInstallation(server_url, bank);
  const people = await addPeople(installation);
  await addBalances(installation, people);
  await installation.snapshot.take();
  const first = {
    time_ms: installation.clock.now().getTime(),
    transfers: [...installation.outside.transfers],
  };
  return {
    run: async (seed, only) => {
      await reset(installation, first, seed);
      return runSteps(installation, people, seed, only);
    },
    close: installation.close,
  };
}

/** Everybody begins with tokens that no quote can use any more. */
async function addBalances(installation: Installation, { users }: People): Promise<void> {
  const { clock, outside, processes } = installation;
  const world = openWorld(installation, new Model(), createRandom(0), "first");
  for (const { id, account } of users) {
    const terms = { deposit_token: "usdc", deposit_token_chain: "polygon" };
    const path = `/users/${id}/quotes`;
    const request = { method: "POST", path, body: { quote: terms }, key: account.key } as const;
    const { body } = (await processes[0]!.call(request))!;
    for (const token of TOKENS) {
      const number = outside.transfers.length;
      outside.transfers.push({
        ...{ chain: "polygon", tx_id: txId(`first ${number}`), log_index: number, token },
        ...{ address: body.deposit_address.address, sender: ADDRESS },
        ...{ amount: FIRST_BALANCE, mined_at: clock.now() },
      });
    }
  }
  await world.finish();
  await clock.advance(QUOTE_ENDED_MS);
  await world.finish(true);
}

type First = { time_ms: number; transfers: readonly Transfer[] };

async function reset(installation: Installation, first: First, seed: number): Promise<void> {
  const { outside, clock, snapshot, processes, trouble } = installation;
  for (const one of processes) await one.rest();
  await snapshot.restore();
  for (const { life } of processes) life.steps_left = Number.POSITIVE_INFINITY;
  clock.set(first.time_ms);
  for (const list of [outside.transfers, outside.answers, outside.credits, outside.delivered]) {
    list.length = 0;
  }
  outside.transfers.push(...first.transfers);
  for (const map of [outside.sent, outside.refused, outside.orders, outside.returns]) map.clear();
  for (const known of [outside.filed, outside.left]) known.clear();
  outside.faults.length = 0;
  installation.files?.clear();
  trouble.random = createRandom(seed ^ 0x5bd1e995);
}

/** Each step has random numbers of its own: without the others it does the same. */
function randomOf(seed: number, step: number, use: number) {
  return createRandom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(step * 8 + use + 1, 0x85ebca6b));
}

export function nameOf(seed: number, step: number): string {
  return randomOf(seed, step, 0).pick(CHOICES).name;
}

/** A seed that is being run. */
type Run = { installation: Installation; people: People; seed: number; model: Model; seen: Seen };

async function runSteps(
  installation: Installation,
  people: People,
  seed: number,
  only?: readonly number[],
): Promise<Failure | null> {
  const model = new Model();
  const run: Run = { installation, people, seed, model, seen: new Map() };
  model.users = people.users.map((user) => ({
    ...user,
    owed: { usdc: FIRST_BALANCE, usdt: FIRST_BALANCE },
  }));
  const { outside } = installation;
  model.hasLeft = (offramp) => isOrdered(outside, around.endToEndId(offramp, offramp.attempt + 1));
  const blocked = new Set<string>();
  installation.outside.objection = ({ key }) => findObjection(model, blocked, key);
  const steps = only ?? Array.from({ length: STEPS }, (_, step) => step);
  const names: string[] = [];
  let at = 0;
  try {
    for (const step of steps) {
      at = step;
      names.push(`${step} ${nameOf(seed, step)}`);
      blocked.clear();
      for (const user of model.users) if (user.blocked) blocked.add(user.id);
      await noteLeft(installation);
      await takeStep(run, step);
    }
    names.push("the end");
    await endSeed(openWorld(installation, model, randomOf(seed, STEPS, 0), "end"));
    return null;
  } catch (error) {
    const check = error instanceof Fault ? error.check : "exception";
    const message = error instanceof Fault ? error.message : String((error as Error).stack);
    return { check, message, step: at, names };
  }
}

async function takeStep(run: Run, step: number): Promise<void> {
  const { installation, people, seed } = run;
  const random = randomOf(seed, step, 1);
  const { act, alone = false } = randomOf(seed, step, 0).pick(CHOICES);
  const { processes, clock } = installation;
  const world = openWorld(installation, run.model, random, `step-${step}`);
  const worker = (use: number, sets_max: number) =>
    processes.map((one, at) => () => world.work(one, randomOf(seed, step, use + at), sets_max));
  clock.pass(1_000 + random.below(4_000));
  const crashes = countCrashes(installation);
  if (alone) await act(world, people);
  else {
    await runInTrouble(world, randomOf(seed, step, 2), [
      () => act(world, people),
      ...worker(3, SETS_BESIDE_MAX),
    ]);
    // What it began goes on, in new trouble.
    await runInTrouble(world, randomOf(seed, step, 5), worker(6, SETS_AFTER_MAX));
  }
  await takeFiles(world);
  checkOutside(world);
  await checkInvariants(world, run.seen);
  const is_crashed = countCrashes(installation) > crashes;
  if (is_crashed && random.chance(VERIFIED)) await verifyBooks(world, false);
  if (!random.chance(SETTLED)) return;
  await world.finish();
  await checkModel(world);
  await checkInvariants(world, run.seen);
}

function countCrashes({ processes }: Installation): number {
  return processes.reduce((sum, { life }) => sum + life.crashes, 0);
}

/** Together, in an order that the seed decides, while processes end and partners fail. */
async function runInTrouble(
  { processes, schedule, trouble, random }: World,
  order: Random,
  works: readonly (() => Promise<unknown>)[],
): Promise<void> {
  for (const { life } of processes) {
    if (random.chance(CRASHES)) life.steps_left = 1 + random.below(AWAITS_MAX);
  }
  trouble.probability = random.pick(FAILURES);
  await schedule.together(order, works);
  for (const { life } of processes) life.steps_left = Number.POSITIVE_INFINITY;
  trouble.probability = 0;
}

/** Everything comes to its end, and all that is slow to check is checked. */
async function endSeed(world: World): Promise<void> {
  await world.finish();
  await around.bankDecides(world);
  await world.finish();
  await checkModel(world);
  await checkFiles(world);
  for (const ms of RETRIES_MS) {
    if (await areDelivered(world)) break;
    await world.clock.advance(ms);
    await world.finish();
    await checkModel(world);
  }
  await checkWebhooks(world);
  await checkEvents(world);
  await verifyBooks(world, true);
}

/** Of a user who was blocked before this step, nothing new leaves. */
function findObjection(model: Model, blocked: ReadonlySet<string>, key: string): string | null {
  const [, , record] = key.split(":");
  const offramp = model.offramps().find(({ id }) => key.startsWith(id.replaceAll("-", "")));
  const other = [...model.onramps, ...model.refunds].find(({ id }) => id === record);
  const user = offramp?.quote.user ?? other?.user;
  return user && blocked.has(user.id) ? `user ${user.id} is blocked` : null;
}
