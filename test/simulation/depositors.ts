import type { ScriptedBank } from "../harness/scripted-bank.ts";
import type { Answer, TestServer } from "../harness/server.ts";
import { credit, REQUEST } from "../onramps/story.ts";
import type { Random } from "./random.ts";

type Onramp = { id: string; code: string; deposit_amount: number };
type Call = (method: string, path: string, body?: unknown) => Promise<Answer>;

const ACTIONS = ["match", "accept_difference", "return", "dismiss"];

/** Payers who pay for onramps, correctly or not, and an operator who decides on the rest. */
export function createDepositors(
  server: TestServer,
  bank: ScriptedBank,
  random: Random,
  call: Call,
  pickUser: () => { id: string },
) {
  const onramps: Onramp[] = [];

  const openOnramp = async () => {
    const onramp = { ...REQUEST, destination_amount: 1 + random.below(5_000) };
    const answer = await call("POST", `/users/${pickUser().id}/onramps`, { onramp });
    const made = answer.body.onramp;
    if (!made) return;
    const { id, deposit_amount } = made;
    onramps.push({ id, deposit_amount, code: made.deposit_instructions.deposit_message });
  };
  const payIn = async () => {
    if (onramps.length === 0) return openOnramp();
    const { code, deposit_amount } = random.pick(onramps.slice(-4));
    const cents = BigInt(Math.round(deposit_amount * 100));
    const amount = random.pick([cents, cents, cents, cents, cents - 1n, cents + 250n]);
    const text = random.pick([code, code, code.toLowerCase(), `inv 7 ${code}`, "no code"]);
    const line = credit(server, { amount, text });
    bank.receive(line);
    // Banks repeat themselves, and sometimes contradict themselves.
    if (random.chance(0.3)) bank.receive(line);
    if (random.chance(0.1)) bank.receive({ ...line, amount: amount + 1n });
  };
  const decide = async () => {
    const { body } = await call("GET", "/deposits?limit=100");
    if (body.deposits.length === 0) return payIn();
    const deposit = random.pick<{ id: string }>(body.deposits);
    const action = random.pick(ACTIONS);
    const has_onramp = action === "match" || action === "accept_difference";
    const request = has_onramp && { deposit: { onramp_id: random.pick(onramps).id } };
    await call("POST", `/deposits/${deposit.id}/${action}`, request || undefined);
  };

  return { onramps, acts: [openOnramp, payIn, payIn, payIn, decide] };
}
