import { encodeFunctionData, keccak256, parseAbi } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import {
  type Signer,
  SignerUnavailable,
  SigningRefused,
  type SignRequest,
} from "../../../src/partners/chain/evm/signer/port.ts";
import { TEST_WORDS } from "./chains-file.ts";
import { TEST_TREASURY } from "./signer.ts";

const ABI = parseAbi(["function transfer(address to, uint256 amount)"]);

/**
 * A signer that counts. It signs what it is asked for and remembers all of it: two different
 * actions for one chain, address and nonce are a payment that was signed twice, and so are two
 * nonces for one payment.
 */
export type CountingSigner = Signer & {
  /** Every different transaction that was signed, in order. */
  signed: { from: string; nonce: number; action: SignRequest["action"]; tx_id: string }[];
  /** Pairs of actions for one nonce, or of nonces for one payment; a test must end with none. */
  doubles: string[];
  /** Nonces for which it has signed what the database does not know any more. */
  lost: Set<number>;
  /** What it does instead of signing. */
  fault: "refuses" | "unavailable" | "answer_lost" | null;
  /** Called before each signature; a test can end the process there. */
  beforeSign: (() => Promise<void>) | null;
};

const treasury_account = mnemonicToAccount(TEST_WORDS, { accountIndex: 1 });

export function createCountingSigner(): CountingSigner {
  const actions = new Map<string, string>();
  const nonces = new Map<string, string>();
  const self: CountingSigner = {
    treasury: TEST_TREASURY,
    wallet: "",
    signed: [],
    doubles: [],
    lost: new Set(),
    fault: null,
    beforeSign: null,
    sign: async (request) => {
      await self.beforeSign?.();
      if (self.fault === "refuses") throw new SigningRefused("the limit of a day is used up");
      if (self.fault === "unavailable") throw new SignerUnavailable("the signer does not answer");
      const { chain_id, key, nonce, action } = request;
      const account =
        key.kind === "treasury"
          ? treasury_account
          : mnemonicToAccount(TEST_WORDS, { addressIndex: key.address_index });
      const from = account.address.toLowerCase();
      const place = `${chain_id} ${from} ${nonce}`;
      const told = JSON.stringify(action, (_, value) =>
        typeof value === "bigint" ? String(value) : value,
      );
      const before = actions.get(place);
      if (self.lost.has(nonce) && action.kind !== "cancel") {
        throw new SigningRefused("the nonce was used for another action", true);
      }
      if (before !== undefined && before !== told && action.kind !== "cancel") {
        self.doubles.push(`${place}: ${before}, then ${told}`);
      }
      actions.set(place, told);
      const { reference } = request;
      if (action.kind === "token_transfer" && (nonces.get(reference) ?? place) !== place) {
        self.doubles.push(`${reference}: ${nonces.get(reference)}, then ${place}`);
      }
      nonces.set(reference, place);
      const raw = await account.signTransaction({ type: "eip1559", ...fieldsOf(request, from) });
      const tx_id = keccak256(raw);
      if (self.signed.every((one) => one.tx_id !== tx_id)) {
        self.signed.push({ from, nonce, action, tx_id });
      }
      if (self.fault === "answer_lost") throw new SignerUnavailable("the answer was lost");
      return { raw, tx_id, from };
    },
    close: async () => {},
  };
  return self;
}

function fieldsOf(
  { chain_id, nonce, gas, max_fee, priority_fee, action }: SignRequest,
  from: string,
) {
  const common = {
    ...{ chainId: chain_id, nonce, gas },
    ...{ maxFeePerGas: max_fee, maxPriorityFeePerGas: priority_fee },
  };
  if (action.kind === "token_transfer") {
    const args = [action.to as `0x${string}`, action.amount] as const;
    const data = encodeFunctionData({ abi: ABI, functionName: "transfer", args });
    return { ...common, to: action.contract as `0x${string}`, data };
  }
  if (action.kind === "gas_top_up") {
    return { ...common, to: action.address as `0x${string}`, value: action.amount };
  }
  if (action.kind === "cancel") return { ...common, to: from as `0x${string}`, value: 0n };
  throw new Error(`this signer does not sign ${action.kind}`);
}
