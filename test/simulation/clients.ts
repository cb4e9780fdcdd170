import { addApprovedUser, addPaymentDetail, addQuote, execute, txId } from "../harness/ramp.ts";
import type { Answer, TestServer } from "../harness/server.ts";
import { createDepositors } from "./depositors.ts";
import type { RandomBank } from "./partners.ts";
import type { Random } from "./random.ts";

type Quote = { id: string; user: User };
type User = { id: string; detail_ids: string[] };

const ADDRESS = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
const USERS = 2;
/** Gates close now and then, and open more often. */
const OPEN = ["approved", "approved", "approved"];
/** The responses that a client may receive; anything else is a fault of the service. */
const EXPECTED_STATUSES = [200, 404, 422];

export type Clients = ReturnType<typeof createClients>;

/** Clients that make random calls, and remember what they created. */
export function createClients(server: TestServer, bank: RandomBank, random: Random) {
  const users: User[] = [];
  const quotes: Quote[] = [];
  const offramps: { id: string; user: User }[] = [];

  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await server.call(method, path, body);
    if (!EXPECTED_STATUSES.includes(answer.status)) {
      throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    }
    return answer;
  };

  const recent = () => random.pick(quotes.slice(-3));
  const addOfframps = async ({ id, user }: Quote) => {
    const items = Array.from({ length: 1 + random.below(3) }, () => ({
      payment_detail_id: random.pick(user.detail_ids),
      destination_amount: (100 + random.below(50_000)) / 100,
      destination_currency: "eur",
    }));
    const path = `/users/${user.id}/quotes/${id}/offramps`;
    const answer = await call("POST", path, { offramps: items });
    for (const offramp of answer.body.offramps ?? []) offramps.push({ id: offramp.id, user });
  };
  const openQuote = async () => {
    const user = random.pick(users);
    const quote = { id: await addQuote(server, user.id), user };
    quotes.push(quote);
    await addOfframps(quote);
  };
  const payIn = async ({ id, user }: Quote) => {
    const shown = await call("GET", `/users/${user.id}/quotes/${id}`);
    const total = Math.max(1, shown.body.quote.deposit_token_amount);
    const share = random.pick([1, 1, 1, 0.999, 0.5, 1.5]);
    const amount = Number((total * share).toFixed(6));
    const token = random.chance(0.1) ? "usdt" : "usdc";
    await call("POST", "/sandbox/crypto_deposits", {
      crypto_deposit: { quote_id: id, amount, token },
    });
  };
  const takeOut = async () => {
    const user = random.pick(users);
    const { body } = await call("GET", `/users/${user.id}/balances`);
    const owed = body.balances.find((entry: { amount: number }) => entry.amount > 0);
    if (!owed) return;
    const amount = Number((owed.amount * random.pick([1, 0.5, 2])).toFixed(6));
    const refund = { token: owed.currency, chain: "polygon", amount, address: ADDRESS };
    await call("POST", `/users/${user.id}/refunds`, { refund });
  };
  const onOfframp = async (act: (path: string, user: User) => Promise<unknown>) => {
    if (offramps.length === 0) return;
    const { id, user } = random.pick(offramps);
    await act(`/users/${user.id}/offramps/${id}`, user);
  };
  const setGate = async () => {
    const user = random.pick(users);
    if (random.chance(0.5)) {
      const kyc = { status: random.pick(["suspended", ...OPEN]) };
      return call("PATCH", `/sandbox/users/${user.id}/kycs`, { kyc });
    }
    const path = `/sandbox/users/${user.id}/payment_details/${random.pick(user.detail_ids)}`;
    const payment_detail = { status: random.pick(["pending", ...OPEN]) };
    return call("PATCH", path, { payment_detail });
  };
  const executeOne = async ({ id, user }: Quote) => {
    await execute(server, user.id, id, txId(random.chance(0.1) ? "shared" : id));
  };
  /** The intended use: pay, then name the transfer, or the other way round. */
  const pay = async () => {
    const quote = recent();
    const steps = [payIn, executeOne];
    for (const step of random.chance(0.5) ? steps : steps.toReversed()) await step(quote);
  };
  const fund = async () => {
    const { id, user } = random.pick(quotes);
    await call("POST", `/users/${user.id}/quotes/${id}/fund`);
  };
  /** A new quote takes its user's balance; the rest is paid later, or never. */
  const fundInParts = async () => {
    await openQuote();
    const { id, user } = quotes.at(-1)!;
    const { status } = await call("POST", `/users/${user.id}/quotes/${id}/fund`);
    if (status === 200 && random.chance(0.7)) await payIn({ id, user });
  };

  const pickUser = () => random.pick(users);
  const depositors = createDepositors(server, bank.scripted, random, call, pickUser);

  const acts: (() => Promise<unknown>)[] = [
    ...depositors.acts,
    openQuote,
    () => addOfframps(recent()),
    () => executeOne(recent()),
    () => payIn(recent()),
    pay,
    pay,
    fund,
    fundInParts,
    takeOut,
    setGate,
    () => onOfframp((path) => call("POST", `${path}/refund`)),
    () =>
      onOfframp((path, user) =>
        call("POST", `${path}/reroute`, {
          offramp: { payment_detail_id: random.pick(user.detail_ids) },
        }),
      ),
  ];

  return {
    offramps,
    onramps: depositors.onramps,
    open: async () => {
      for (let index = 0; index < USERS; index += 1) {
        const id = await addApprovedUser(server);
        const detail_ids = [
          await addPaymentDetail(server, id, "eur"),
          await addPaymentDetail(server, id, "eur"),
        ];
        users.push({ id, detail_ids });
        const refund_address = { chain: "polygon", address: ADDRESS };
        await call("POST", `/users/${id}/refund_addresses`, { refund_address });
      }
      await openQuote();
    },
    act: () => random.pick(acts)(),
    /** Approves every user again. */
    calmDown: async () => {
      for (const { id, detail_ids } of users) {
        await call("PATCH", `/sandbox/users/${id}/kycs`, { kyc: { status: "approved" } });
        for (const detail_id of detail_ids) {
          const path = `/sandbox/users/${id}/payment_details/${detail_id}`;
          await call("PATCH", path, { payment_detail: { status: "approved" } });
        }
      }
    },
  };
}
