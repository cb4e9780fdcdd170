import type {
  BankAnswer,
  BankCredit,
  BankPort,
  Instruction,
} from "../../src/partners/bank/port.ts";
import { sandboxBankAccount, sandboxCoordinates } from "../../src/partners/bank/sandbox.ts";
import { type ChainPort, ChainUnavailable, type Transfer } from "../../src/partners/chain/port.ts";
import type {
  OutboundRequest,
  OutboundResult,
} from "../../src/partners/outbound-http/outbound-request.ts";
import { txId } from "../harness/ramp.ts";
import type { Random } from "./random.ts";
import type { Life, Schedule } from "./schedule.ts";

/** How often a call of a partner fails; zero while the world is calm. */
export type Trouble = { probability: number; random: Random };

export type Sent = { key: string; token: string; amount: bigint; address: string };
export type Delivered = { record: string; sequence: number; status: string };

/** What happened outside the service: the truth that it is compared with. */
export type Outside = ReturnType<typeof createOutside>;

export function createOutside() {
  return {
    transfers: [] as Transfer[],
    /** By key: a chain sends once for each. */
    sent: new Map<string, Sent>(),
    refused: new Set<string>(),
    /** Instructions that reached the bank, by end-to-end id. */
    orders: new Map<string, Pick<Instruction, "amount" | "currency">>(),
    /** Where they go by files: those that are in one, whether the bank has it or not. */
    filed: new Set<string>(),
    /** Those in files that nothing can stop any more. */
    left: new Set<string>(),
    answers: [] as BankAnswer[],
    credits: [] as BankCredit[],
    /** Money sent back to payers, by key. */
    returns: new Map<string, bigint>(),
    /** Webhooks that were answered with 200, in their order. */
    delivered: [] as Delivered[],
    /** What the partners saw that must never happen. */
    faults: [] as string[],
    /** Called before money leaves; returns why it must not. */
    objection: (_leaving: { account_id?: string; key: string }): string | null => null,
  };
}

/** Whether the payment was ordered: the bank has it, or it is in a file for the bank. */
export function isOrdered({ orders, filed }: Outside, end_to_end_id: string): boolean {
  return orders.has(end_to_end_id) || filed.has(end_to_end_id);
}

type Call = <Result>(work: () => Result) => Promise<Result>;

/** Partners of one process. They fail before or after their work, and repeat what they said. */
export function openPartners(
  schedule: Schedule,
  life: Life,
  outside: Outside,
  trouble: Trouble,
): { bank: BankPort; chain: ChainPort; send: (one: OutboundRequest) => Promise<OutboundResult> } {
  const fails = () => trouble.probability > 0 && trouble.random.chance(trouble.probability);
  const callWith =
    (Failure: new (message: string) => Error): Call =>
    (work) =>
      schedule.step(life, async () => {
        if (fails()) throw new Failure("the partner could not be reached");
        const result = work();
        if (fails()) throw new Failure("the partner's answer was lost");
        return result;
      });
  const from = (cursor: string | null) => (fails() ? 0 : Number(cursor ?? 0));
  return {
    bank: openBank(callWith(Error), outside, from),
    chain: openChain(callWith(ChainUnavailable), outside, from),
    send: (request) =>
      schedule.step(life, async () => {
        const answer = { headers: {}, body: Buffer.from(""), truncated: false };
        if (fails()) return { ...answer, status: 503 };
        outside.delivered.push(readDelivery(request));
        // It was received, and the answer says otherwise.
        return { ...answer, status: fails() ? 500 : 200 };
      }),
  };
}

function readDelivery({ headers, body }: OutboundRequest): Delivered {
  const { payload, invoice } = JSON.parse(String(body));
  const [record] = Object.values(payload ?? { invoice }) as { id: string; status: string }[];
  const sequence = Number(headers["x-webhook-sequence"]);
  return { record: record!.id, sequence, status: record!.status };
}

function openBank(call: Call, outside: Outside, from: (cursor: string | null) => number): BankPort {
  const page = <Item>(list: readonly Item[], cursor: string | null, limit: number) => {
    const start = from(cursor);
    const read = list.slice(start, start + limit);
    return { read, cursor: String(Math.max(start + read.length, Number(cursor ?? 0))) };
  };
  return {
    submit: (instructions) =>
      call(() => {
        for (const order of instructions) {
          const id = order.end_to_end_id;
          const known = outside.orders.get(id);
          const same = known && known.amount === order.amount && known.currency === order.currency;
          if (known && !same) outside.faults.push(`the bank got ${id} with other content`);
          const objection = known ? null : outside.objection({ ...order, key: id });
          if (objection) outside.faults.push(`the bank got ${id}, but ${objection}`);
          if (!known) outside.orders.set(id, order);
        }
      }),
    listAnswers: (cursor, limit) =>
      call(() => {
        const { read, ...rest } = page(outside.answers, cursor, limit);
        return { answers: read, ...rest };
      }),
    payingAccount: ({ currency }) => sandboxBankAccount(currency),
    coordinatesFor: sandboxCoordinates,
    listCredits: (cursor, limit) =>
      call(() => {
        const { read, ...rest } = page(outside.credits, cursor, limit);
        return { credits: read, ...rest };
      }),
    returnCredit: ({ key, amount }) =>
      call(() => {
        outside.returns.set(key, amount);
        return "booked" as const;
      }),
  };
}

function openChain(
  call: Call,
  outside: Outside,
  from: (cursor: string | null) => number,
): ChainPort {
  let addresses = 0;
  return {
    chains: ["polygon"],
    simulated: [],
    sending: ["polygon"],
    issueAddresses: async (_session, chains, now) =>
      chains.map(() => {
        addresses += 1;
        return txId(`address ${now.getTime()} ${addresses} ${Math.random()}`).slice(0, 42);
      }),
    announce: () => call(() => {}),
    listTransfers: (_chain, cursor, limit) =>
      call(() => {
        const start = from(cursor);
        const transfers = outside.transfers.slice(start, start + limit);
        const end = Math.max(start + transfers.length, Number(cursor ?? 0));
        return { transfers, cursor: String(end) };
      }),
    finalUntil: async (_chain, now) => now,
    findStatus: (_chain, { tx_id }) =>
      call(() => (outside.transfers.some((one) => one.tx_id === tx_id) ? "final" : "unknown")),
    readTransaction: () => call(() => ({ status: "unknown" as const })),
    findObjection: async () => null,
    findSend: (_chain, key) =>
      call(() => {
        if (outside.refused.has(key)) return { refused: "the address is blocked" };
        return outside.sent.has(key) ? { tx_id: txId(key) } : null;
      }),
    send: (request) =>
      call(() => {
        const { key, amount, token, address } = request;
        if (outside.refused.has(key)) return { refused: "the address is blocked" };
        const known = outside.sent.get(key);
        if (known && known.amount !== amount) outside.faults.push(`${key} was sent differently`);
        const objection = known ? null : outside.objection({ key });
        if (objection) outside.faults.push(`${key} was sent, but ${objection}`);
        if (!known) outside.sent.set(key, { key, token, amount, address });
        return { tx_id: txId(key) };
      }),
  };
}
