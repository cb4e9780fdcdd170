import { expect } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/platform/durations.ts";
import { addMember, seenOf, type TestMember } from "../approvals/proposal-fixture.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import type { TestRates } from "../harness/rates.ts";
import type { ScriptedBank } from "../harness/scripted-bank.ts";
import type { Answer, TestServer } from "../harness/server.ts";
import { credit } from "../onramps/story.ts";
import type { Random } from "../simulation/random.ts";
import { advance, deposit, good, settle } from "./story.ts";

/** Units for one usd at first; the random walk moves them both ways. */
export const FIRST_RATES = { eur: "0.8", jpy: "150", tnd: "3.1" };
/** What one token is worth in usd. */
export const TOKEN_RATES = { usdc: "1", usdt: "0.998" };

/** Digits after the point, the flat part of the fee in usd, and a range of amounts to pay. */
export const CURRENCIES = {
  eur: { digits: 2, flat_usd: 0n, from: 20_00, to: 450_00 },
  usd: { digits: 2, flat_usd: 0n, from: 20_00, to: 450_00 },
  tnd: { digits: 3, flat_usd: 0n, from: 60_000, to: 1_500_000 },
  // By swift, the only rail.
  jpy: { digits: 0, flat_usd: 49n, from: 3_000, to: 70_000 },
} as const;
type Currency = keyof typeof CURRENCIES;
type Token = keyof typeof TOKEN_RATES;
const CODES = Object.keys(CURRENCIES) as Currency[];
const TOKENS = Object.keys(TOKEN_RATES) as Token[];

const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
const SPANS = [10 * MINUTE_MS, 45 * MINUTE_MS, 2 * HOUR_MS, 30 * HOUR_MS];
const PEOPLE_MAX = 12;

type Person = { path: string; user_id: string; details: Record<Currency, string[]> };
type WalkedQuote = { person: Person; token: Token; id: string; path: string; offramps: string[] };

/** What the bank did with an instruction. */
export type BankRecord = { amount: bigint; is_booked: boolean; returned: bigint };

/** The service and everybody around it, moved by chance. */
export async function openWorld(
  server: TestServer,
  { bank, rates, random }: { bank: ScriptedBank; rates: TestRates; random: Random },
) {
  const members: TestMember[] = [
    await addMember(server, "admin"),
    await addMember(server, "approver"),
  ];
  const people: Person[] = [];
  const quotes: WalkedQuote[] = [];
  const proposals: string[] = [];
  const executed = new Set<string>();
  /** Fees by the table, in minor units, by the id of the offramp or onramp. */
  const fees = new Map<string, bigint>();
  /** By end-to-end id. */
  const paid = new Map<string, BankRecord>();
  const current: Record<string, string> = { usd: "1", ...FIRST_RATES };
  const counts: Record<string, number> = {};
  bank.manner = "is_silent";

  const count = (name: string) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  /** What is refused moves nothing; what waits for approval may be approved later. */
  const noteProposal = (answer: Answer): Answer => {
    const id = answer.body?.proposal?.id ?? answer.body?.approval?.proposal_id;
    if (id && !proposals.includes(id)) {
      proposals.push(id);
      count("proposals");
    }
    return answer;
  };
  const call = async (method: string, path: string, body?: unknown) =>
    noteProposal(await server.call(method, path, body));

  async function addPerson(): Promise<Person> {
    const user_id = await addApprovedUser(server);
    const pairs = CODES.map(async (code): Promise<[Currency, string[]]> => {
      const own = [await addPaymentDetail(server, user_id, code)];
      return [code, [...own, await addPaymentDetail(server, user_id, code)]];
    });
    const details = Object.fromEntries(await Promise.all(pairs)) as Person["details"];
    const person = { path: `/users/${user_id}`, user_id, details };
    const refund_address = { chain: "polygon", address: ADDRESS };
    good(await server.call("POST", `${person.path}/refund_addresses`, { refund_address }));
    people.push(person);
    return person;
  }

  /** Somebody new, or somebody with a past. */
  const pickPerson = async () =>
    people.length < PEOPLE_MAX && (people.length === 0 || random.chance(0.3))
      ? addPerson()
      : random.pick(people);

  async function addOfframps(quote: WalkedQuote): Promise<void> {
    const items = Array.from({ length: 1 + random.below(3) }, () => {
      const code = random.pick(CODES);
      const { digits, from, to } = CURRENCIES[code];
      const minor = from + random.below(to - from);
      return { code, minor, amount: (minor / 10 ** digits).toFixed(digits) };
    });
    const answer = await server.call("POST", `${quote.path}/offramps`, {
      offramps: items.map(({ code, amount }) => ({
        payment_detail_id: quote.person.details[code][0],
        destination_amount: amount,
        destination_currency: code,
        ...(code === "jpy" ? { submitted_url: "https://files.test/invoice.pdf" } : {}),
      })),
    });
    // A rate that has just moved may not be offered.
    if (answer.status !== 200) return;
    answer.body.offramps.forEach(({ id }: { id: string }, at: number) => {
      quote.offramps.push(id);
      fees.set(id, feeOf(items[at]!.code, BigInt(items[at]!.minor), current));
    });
  }

  const pickQuote = () => random.pick(quotes.filter(({ offramps }) => offramps.length > 0));
  /** One that waits for somebody, if there is one. */
  const pickOfframp = async (...statuses: string[]) => {
    const path = `/offramps?status=${random.pick(statuses)}&limit=50`;
    const { offramps } = good(await server.call("GET", path));
    const quote = pickQuote();
    const id: string =
      offramps.length > 0 ? random.pick<{ id: string }>(offramps).id : random.pick(quote.offramps);
    const { person } = quotes.find((one) => one.offramps.includes(id))!;
    return { id, person, path: `${person.path}/offramps/${id}` };
  };

  async function upload(id: string): Promise<void> {
    const body = new FormData();
    const file = new Blob(["%PDF-1.7 an invented invoice"], { type: "application/pdf" });
    body.set("file", file, "invoice.pdf");
    const url = `${server.url}/offramps/${id}/supporting-documents`;
    const headers = { authorization: `Bearer ${server.key}` };
    await (await fetch(url, { method: "POST", headers, body })).arrayBuffer();
  }

  const actions = {
    quote: async () => {
      const person = await pickPerson();
      const token = random.pick(TOKENS);
      const id = await addQuote(server, person.user_id, { deposit_token: token });
      const quote = { person, token, id, path: `${person.path}/quotes/${id}`, offramps: [] };
      quotes.push(quote);
      await addOfframps(quote);
    },
    pay: async () => {
      // A new one, or any earlier one.
      const unpaid = quotes.filter((one) => one.offramps.length > 0 && !executed.has(one.id));
      if (unpaid.length === 0) await actions.quote();
      const { person, token, id, path } =
        unpaid.length > 0 && random.chance(0.8) ? unpaid.at(-1)! : pickQuote();
      executed.add(id);
      const { quote } = good(await server.call("GET", path));
      const total = quote.deposit_token_amount;
      const amounts = [total, total, total, total - 0.01, total * 0.96, total / 2, total + 5];
      const amount = Math.round(random.pick(amounts) * 1e6) / 1e6;
      await deposit(server, { quote_id: id, amount, token });
      const answer = noteProposal(await execute(server, person.user_id, id));
      count(answer.status === 200 ? "executed" : "not executed");
    },
    top_up: async () => {
      const { id, token } = pickQuote();
      await deposit(server, { quote_id: id, amount: 1 + random.below(50), token });
    },
    other_token: async () => {
      const { id, token } = pickQuote();
      const other = token === "usdc" ? "usdt" : "usdc";
      await deposit(server, { quote_id: id, amount: 1 + random.below(500), token: other });
    },
    fund: () => call("POST", `${pickQuote().path}/fund`),
    upload: async () => {
      const { id } = await pickOfframp("ongoing_checks");
      const { offramps } = quotes.find((one) => one.offramps.includes(id))!;
      for (const one of random.chance(0.7) ? offramps : [id]) await upload(one);
    },
    give_up: async () => {
      const { path } = await pickOfframp("ongoing_checks", "bounced");
      await call("POST", `${path}/refund`);
    },
    reroute: async () => {
      const { path, person } = await pickOfframp("bounced");
      const { offramp } = good(await server.call("GET", path));
      const code = offramp.destination_currency as Currency;
      const payment_detail_id = random.pick(person.details[code]);
      const answer = await call("POST", `${path}/reroute`, { offramp: { payment_detail_id } });
      if (answer.body.offramp) count("re-routed");
    },
    withdraw: async () => {
      const { path } = random.pick(people);
      const { balances } = good(await server.call("GET", `${path}/balances`));
      for (const { currency, amount } of balances) {
        if (amount < 1) continue;
        const wanted = random.chance(0.5) ? amount : Math.floor(amount);
        const refund = { token: currency, chain: "polygon", amount: wanted, address: ADDRESS };
        await call("POST", `${path}/refunds`, { refund });
      }
    },
    bank: async () => {
      for (const [id, { amount }] of bank.known) {
        if (paid.has(id) || random.chance(0.1)) continue;
        const is_booked = random.chance(0.8);
        paid.set(id, { amount, is_booked, returned: 0n });
        bank.say(id, is_booked ? "booked" : "rejected");
        count(is_booked ? "booked" : "rejected");
      }
      await advance(server, 2_000);
    },
    return: async () => {
      const kept = [...paid].filter(([, { is_booked, returned }]) => is_booked && returned === 0n);
      if (kept.length === 0) return;
      const [id, record] = random.pick(kept);
      const { amount } = record;
      const shares = [amount, amount, amount - amount / 200n, amount / 2n, amount / 50n + 1n, 1n];
      const returned = random.pick(shares);
      paid.set(id, { ...record, returned });
      bank.say(id, "returned", { amount: returned });
      count(returned === amount ? "returned" : "returned in part");
      await advance(server, 2_000);
    },
    /** More of a payment that came back in part; the bank names the attempt that it was. */
    return_more: async () => {
      const parts = [...paid].filter(
        ([, { amount, returned }]) => returned > 0n && returned < amount,
      );
      if (parts.length === 0) return;
      const [id, record] = random.pick(parts);
      const rest = record.amount - record.returned;
      const more = random.chance(0.5) ? rest : rest / 2n + 1n;
      paid.set(id, { ...record, returned: record.returned + more });
      bank.say(id, "returned", { amount: more });
      count("returned once more");
      await advance(server, 2_000);
      if (random.chance(0.7)) await actions.resolve();
    },
    /** What fits no payout is assigned where that is possible, else it is a gain of ours. */
    resolve: async () => {
      const { bank_exceptions } = good(await server.call("GET", "/bank_exceptions?status=open"));
      for (const { id } of bank_exceptions) {
        const body = { resolution: "assign", reason: "By a test" };
        const assigned = await call("POST", `/bank_exceptions/${id}/resolve`, body);
        count(assigned.status === 200 ? "assigned" : "not assigned");
        if (assigned.status === 200) continue;
        await call("POST", `/bank_exceptions/${id}/resolve`, { ...body, resolution: "write_off" });
      }
    },
    remove: async () => {
      const quote = pickQuote();
      if (quote.offramps.length === 1) return;
      const id = random.pick(quote.offramps);
      const answer = await server.call("DELETE", `${quote.path}/offramps/${id}`);
      if (answer.status !== 200) return;
      quote.offramps.splice(quote.offramps.indexOf(id), 1);
      count("removed");
    },
    vote: async () => {
      if (proposals.length === 0) return;
      const [id] = proposals.splice(random.below(proposals.length), 1);
      if (random.chance(0.25)) return void (await members[1]!.reject(id!));
      if (seenOf(await members[0]!.open(), id!) === "") {
        const { proposal } = good(await server.call("GET", `/proposals/${id}`));
        // It waits for a document.
        if (proposal.status === "pending") proposals.push(id!);
        return;
      }
      for (const member of members) await member.confirm(id!);
      count("approved");
    },
    onramp: async () => {
      const { path } = await pickPerson();
      const [fiat_currency, fiat_rails] = random.pick([
        ["usd", "ach_push"],
        ["eur", "local"],
      ]);
      const terms = { crypto_currency: random.pick(TOKENS), crypto_rails: "polygon" };
      const onramp = {
        ...{ destination_amount: 20 + random.below(300), destination_address: ADDRESS },
        ...{ fiat_currency, fiat_rails, ...terms },
      };
      const created = await server.call("POST", `${path}/onramps`, { onramp });
      if (created.status !== 200) return;
      const { id, fee, deposit_amount, deposit_instructions } = created.body.onramp;
      fees.set(id, BigInt(Math.round(fee * 100)));
      count("onramps");
      const amount = BigInt(Math.round(deposit_amount * 100)) - (random.chance(0.2) ? 1n : 0n);
      const text = deposit_instructions.deposit_message;
      const bank_account = `main-${fiat_currency}`;
      bank.receive(credit(server, { amount, text, currency: fiat_currency!, bank_account }));
      await advance(server, 2_000);
    },
    rate: async () => {
      // Less than the step at which a rate is held until the operator confirms it.
      const moved = Object.entries(FIRST_RATES).map(([code, first]) => {
        const factor = 0.98 + random.below(41) / 1000;
        return [code, (Number(first) * factor).toFixed(4)];
      });
      Object.assign(current, Object.fromEntries(moved));
      await rates.set(server, current);
    },
    time: () => advance(server, random.pick(SPANS)),
  };

  /** Lets everything come to its end. */
  async function finish(): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      await actions.bank();
      await advance(server, 73 * HOUR_MS);
    }
    await settle(server);
    expect([...bank.known.keys()].filter((id) => !paid.has(id))).toEqual([]);
  }

  await actions.quote();
  return { actions, fees, paid, counts, finish };
}

/** 40 basis points and the flat part, rounded up to the minor digit. */
function feeOf(code: Currency, minor: bigint, rates: Readonly<Record<string, string>>): bigint {
  const { digits, flat_usd } = CURRENCIES[code];
  const scaled = BigInt(Math.round(Number(rates[code]) * 10_000));
  const flat = flat_usd * scaled * 10n ** BigInt(digits);
  const sum = minor * 40n + flat;
  return (sum + 9_999n) / 10_000n;
}
