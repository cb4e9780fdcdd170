import type { Keys } from "./keys.ts";
import type { SignerChain } from "./load-signer.ts";
import { type SignedAction, SigningRefused, type SignRequest } from "./port.ts";

/** What counts towards a limit of 24 hours: an amount of a contract, or of the native coin. */
export type Spending = { of: string; amount: bigint };

const NATIVE = "native";
const ZERO_ADDRESS = `0x${"0".repeat(40)}`;
/** Below the limit of a block on every chain. */
const GAS_MAX = 10_000_000n;

/** Checks key and fees, whatever the action is. Throws SigningRefused. */
export function checkFees(keys: Keys, chain: SignerChain, request: SignRequest): void {
  const { key, gas, max_fee, priority_fee } = request;
  if (gas > GAS_MAX) throw new SigningRefused(`The gas is more than ${GAS_MAX}.`);
  if (priority_fee > max_fee) throw new SigningRefused("The priority fee is more than the fee.");
  if (gas * max_fee > chain.fee_max) {
    throw new SigningRefused(`The fee of up to ${gas * max_fee} wei is more than fee_max.`);
  }
  if (key.kind === "deposit") checkIndex(keys, key);
}

/** Checks which key does what, with which token, up to which amount. Throws SigningRefused. */
export function checkAction(keys: Keys, chain: SignerChain, request: SignRequest): void {
  if (request.key.kind === "deposit") checkDeposit(keys, chain, request);
  else checkTreasury(keys, chain, request);
}

/** Whether tokens leave our addresses. */
export function isPayment({ key, action }: Pick<SignRequest, "key" | "action">): boolean {
  return key.kind === "treasury" && action.kind === "token_transfer";
}

/** Null where nothing leaves our addresses. */
export function spendingOf(from: string, treasury: string, action: SignedAction): Spending | null {
  if (from !== treasury) return null;
  if (action.kind === "gas_top_up") return { of: NATIVE, amount: action.amount };
  if (action.kind === "token_transfer") return { of: action.contract, amount: action.amount };
  return null;
}

export function perDayMax({ top_up_per_day_max, tokens }: SignerChain, of: string): bigint {
  return of === NATIVE ? top_up_per_day_max : (tokens.get(of)?.per_day_max ?? 0n);
}

function checkDeposit(keys: Keys, chain: SignerChain, { action }: SignRequest): void {
  if (action.kind === "cancel") return;
  if (action.kind !== "token_transfer") {
    throw new SigningRefused(`The key of a deposit address does not sign ${action.kind}.`);
  }
  tokenOf(chain, action.contract);
  if (action.to === keys.treasury) return;
  throw new SigningRefused("The key of a deposit address signs transfers to the treasury only.");
}

function checkTreasury(keys: Keys, chain: SignerChain, { action }: SignRequest): void {
  if (action.kind === "cancel") return;
  if (action.kind === "sweep_with_authorization") {
    tokenOf(chain, action.contract);
    checkIndex(keys, action);
    return;
  }
  if (action.kind === "gas_top_up") {
    checkIndex(keys, action);
    if (action.amount > chain.top_up_max) {
      throw new SigningRefused(`A top-up of ${action.amount} wei is more than top_up_max.`);
    }
    return;
  }
  const { contract, to, amount } = action;
  const { per_transaction_max } = tokenOf(chain, contract);
  if (to === ZERO_ADDRESS || to === contract || to === keys.treasury) {
    throw new SigningRefused(`Tokens sent to ${to} would be lost or stay where they are.`);
  }
  if (amount > per_transaction_max) {
    throw new SigningRefused(`${amount} of ${contract} is more than per_transaction_max.`);
  }
}

function tokenOf({ chain_id, tokens }: SignerChain, contract: string) {
  const token = tokens.get(contract);
  if (token) return token;
  throw new SigningRefused(
    `The signer's file does not have token ${contract} of chain ${chain_id}.`,
  );
}

/** Else the database and the keystore belong to different wallets. */
function checkIndex(keys: Keys, given: { address_index: number; address: string }): void {
  const address = keys.addressAt(given.address_index);
  if (address === given.address) return;
  throw new SigningRefused(
    `The signer's address ${given.address_index} is ${address}, not ${given.address}.`,
  );
}
