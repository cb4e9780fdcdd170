import type { Chain } from "../../src/catalogue/chains.ts";
import type { BankAnswer } from "../../src/partners/bank/port.ts";
import type { ChainPort } from "../../src/partners/chain/port.ts";
import type { Database } from "../../src/platform/db/database.ts";
import { createScriptedBank } from "../harness/scripted-bank.ts";
import { Crash } from "../harness/steps.ts";
import type { Random } from "./random.ts";

/** The probability that a call fails; zero once the simulation calms down. */
export type FailureRate = { probability: number };

/** Fails before or after the call, or ends the process there. */
function failing<Arguments extends unknown[], Result>(
  random: Random,
  failures: FailureRate,
  call: (...values: Arguments) => Promise<Result>,
): (...values: Arguments) => Promise<Result> {
  const trip = (where: string) => {
    if (!random.chance(failures.probability)) return;
    if (random.chance(0.5)) throw new Crash(`ended ${where} a call`);
    throw new Error(`a partner failed ${where} its work`);
  };
  return async (...values) => {
    trip("before");
    const result = await call(...values);
    trip("after");
    return result;
  };
}

/** A database whose process may end just before or just after any commit. */
export function createFailingDatabase(
  database: Database,
  random: Random,
  failures: FailureRate,
): Database {
  return {
    ...database,
    transaction: (work, options) =>
      failing(random, failures, () =>
        database.transaction(async (tx) => {
          const result = await work(tx);
          if (random.chance(failures.probability)) throw new Crash("ended before the commit");
          return result;
        }, options),
      )(),
  };
}

/** A chain that also refuses some refunds for good: repeated calls return the same. */
export function createFailingChain(
  chain: ChainPort,
  random: Random,
  failures: FailureRate,
): ChainPort {
  const refused = new Map<string, boolean>();
  const isRefused = (key: string) => {
    if (!refused.has(key)) refused.set(key, key.startsWith("refund:") && random.chance(0.3));
    return refused.get(key)!;
  };
  const send: ChainPort["send"] = async (request) =>
    isRefused(request.key) ? { refused: "the address is blocked" } : chain.send(request);
  return {
    ...chain,
    announce: failing(random, failures, chain.announce),
    // May return transfers that were read before.
    listTransfers: failing(random, failures, (name: Chain, cursor: string | null, limit: number) =>
      chain.listTransfers(name, random.chance(failures.probability) ? null : cursor, limit),
    ),
    findStatus: failing(random, failures, chain.findStatus),
    findSend: failing(random, failures, chain.findSend),
    send: failing(random, failures, send),
  };
}

type State = "accepted" | "booked" | "rejected" | "returned";

export type RandomBank = ReturnType<typeof createRandomBank>;

/** A bank that reports the truth: late, twice, in any order, and not always reachable. */
export function createRandomBank(random: Random, failures: FailureRate) {
  const bank = createScriptedBank();
  bank.manner = "is_silent";
  const states = new Map<string, State>();
  const said: BankAnswer[] = [];
  const stateOf = (id: string): State => states.get(id) ?? "accepted";
  const listIn = (...wanted: State[]) =>
    [...bank.known.keys()].filter((id) => wanted.includes(stateOf(id)));

  const move = (id: string, state: "booked" | "rejected" | "returned") => {
    const { amount } = bank.known.get(id)!;
    const returned = random.pick([amount, amount, amount - 1n, amount + 7n, 0n]);
    // A return of nothing contradicts itself: the money stays where it is.
    if (state !== "returned" || returned > 0n) states.set(id, state);
    said.push(bank.say(id, state, state === "returned" ? { amount: returned } : {}));
  };

  return {
    scripted: bank,
    port: {
      submit: failing(random, failures, bank.port.submit),
      listAnswers: failing(random, failures, (cursor: string | null, limit: number) =>
        bank.port.listAnswers(random.chance(failures.probability) ? null : cursor, limit),
      ),
      payingAccount: bank.port.payingAccount,
      coordinatesFor: bank.port.coordinatesFor,
      listCredits: failing(random, failures, (cursor: string | null, limit: number) =>
        bank.port.listCredits(random.chance(failures.probability) ? null : cursor, limit),
      ),
      returnCredit: failing(random, failures, bank.port.returnCredit),
    },
    /** Decides on a payment, or repeats an earlier answer. */
    act: (account_id: string) => {
      bank.return_answer = random.pick(["booked", "booked", "pending", "refused"]);
      const accepted = listIn("accepted");
      const booked = listIn("booked");
      const what = random.next();
      if (what < 0.55 && accepted.length > 0) move(random.pick(accepted), "booked");
      else if (what < 0.65 && accepted.length > 0) move(random.pick(accepted), "rejected");
      else if (what < 0.7 && accepted.length > 0) move(random.pick(accepted), "returned");
      else if (what < 0.85 && booked.length > 0) move(random.pick(booked), "returned");
      else if (what < 0.95 && said.length > 0) bank.repeat(random.pick(said));
      else bank.say("nobody", "returned", { account_id, amount: BigInt(random.below(5)) });
    },
    /** Pays everything that it has received. */
    calmDown: () => {
      bank.return_answer = "booked";
      for (const id of listIn("accepted")) move(id, "booked");
    },
    /** The payments of an offramp whose money is with the beneficiary. */
    listPaid: (offramp_id: string) =>
      listIn("booked").filter((id) => id.startsWith(offramp_id.replaceAll("-", ""))),
    /** Payments that it received with different contents. */
    listChanged: () =>
      bank.handed_over.filter((one) => bank.known.get(one.end_to_end_id)!.amount !== one.amount),
  };
}
