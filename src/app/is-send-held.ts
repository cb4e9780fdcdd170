import { isRefundHeld } from "../balances/refund-task.ts";
import { isDeliveryHeld } from "../onramps/deliver-onramps.ts";
import { isReturnHeld } from "../onramps/deposits/move-deposits.ts";
import type { IsHeld } from "../partners/chain/port.ts";
import { ownerOf } from "../partners/chain/send-keys.ts";
import type { ModuleCore } from "../platform/module.ts";

/** Each module knows when its records may not be paid; sweeps stay within our own addresses. */
export function isSendHeld({ config, operator_id }: ModuleCore): IsHeld {
  return async (session, key) => {
    const owner = ownerOf(key);
    if (owner === null) return false;
    if (owner.kind === "refund") return isRefundHeld(session, owner);
    if (owner.kind === "onramp") return isDeliveryHeld(session, config.kyc_enforcement, owner);
    return isReturnHeld(session, { account_id: operator_id, id: owner.id });
  };
}
