import { askRefund } from "../balances/refund-task.ts";
import { askDelivery } from "../onramps/deliver-onramps.ts";
import { askReturn } from "../onramps/deposits/move-deposits.ts";
import type { AskOwner } from "../partners/chain/port.ts";
import { ownerOf } from "../partners/chain/send-keys.ts";
import type { ModuleCore } from "../platform/module.ts";

/**
 * Each module knows what its records pay, and when they may not. Sweeps, and what belongs to them,
 * have no record; they stay within our own addresses.
 */
export function openAskOwner({ config, keyring, operator_id }: ModuleCore): AskOwner {
  const { kyc_enforcement } = config;
  return async (session, key, payment) => {
    const owner = ownerOf(key);
    if (payment === null) return owner === null ? "wanted" : "not_wanted";
    if (owner === null) return "not_wanted";
    if (owner.kind === "refund") return askRefund(session, { keyring }, owner, payment);
    if (owner.kind === "onramp") {
      return askDelivery(session, { keyring, kyc_enforcement }, owner, payment);
    }
    return askReturn(session, { keyring, operator_id }, key, owner.id, payment);
  };
}
