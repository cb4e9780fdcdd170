import { expect } from "vitest";
import { SendPending } from "../../../src/partners/chain/port.ts";
import { TEST_TREASURY } from "./signer.ts";
import type { TestEvm } from "./test-evm.ts";

const TEN = 10_000_000n;
const COIN = 10n ** 18n;
const ROUNDS_MAX = 10;

type Payment = {
  key: string;
  chain: "polygon";
  token: "usdc";
  amount: bigint;
  address: string;
};

export type TestPayments = ReturnType<typeof createPayments>;

/** Payments from the treasury on a test chain that mines when it is told to. */
export function createPayments(evm: TestEvm) {
  let count = 0;

  /** The outcome, or the state while it is pending. */
  const ask = (one: Payment) =>
    evm.port.send(one).catch(async (error: unknown) => {
      if (!(error instanceof SendPending)) throw error;
      return (await evm.sendOf(one.key))!.state;
    });

  const transactionsOf = ({ address }: Payment) =>
    evm.signer.signed.filter(
      ({ action }) => action.kind === "token_transfer" && action.to === address,
    );

  return {
    /** A new payment to a new address. */
    next: (amount = TEN): Payment => {
      count += 1;
      const address = `0x${count.toString(16).padStart(40, "a")}`;
      return { key: `refund:account:${count}`, chain: "polygon", token: "usdc", amount, address };
    },
    ask,
    /** Runs the sender and mines until the payment has an outcome. */
    settle: async (one: Payment) => {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const outcome = await ask(one);
        if (typeof outcome !== "string") return outcome;
        await evm.runSender();
        await evm.node.mine();
        evm.wait(6_000);
      }
      return ask(one);
    },
    /** What was signed for it. */
    transactionsOf,
    balanceOf: (address: string) => evm.tokens.usdc.balanceOf(address),
    /** The pool of the node forgets its last transaction. */
    drop: async (one: Payment) => {
      const { tx_id } = transactionsOf(one).at(-1)!;
      expect(await evm.node.ask("hardhat_dropTransaction", tx_id)).toBe(true);
    },
    /** Native coin for gas. */
    fund: async (wei = COIN) => {
      await evm.node.ask("hardhat_setBalance", TEST_TREASURY, `0x${wei.toString(16)}`);
    },
  };
}
