import type { Describe } from "../approvals/with-approval.ts";
import { TOKEN_DIGITS } from "../catalogue/chains.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { minorToText } from "../platform/money.ts";
import { isScreeningOpen } from "../users/clearance.ts";
import { findUserName } from "../users/find-user-name.ts";
import type { RefundDestination } from "./destinations.ts";
import { findDestination, type LoadedRefunds, type RefundRequest } from "./refund-balances.ts";
import { listSenders } from "./sender-store.ts";

export const DESTINATIONS = {
  sender: "the address that they came from",
  registered: "a registered address",
  other: "an address that the user has not registered",
} as const satisfies Record<RefundDestination, string>;

const SENDERS_SHOWN = 3;

/** The address is shown whole: members compare it with the one that the user gave them. */
export function describeRefund(deps: {
  keyring: Keyring;
  index_key: Buffer;
}): Describe<RefundRequest, LoadedRefunds> {
  return async (session, loaded, command) => {
    const { account_id, input } = command;
    const { user_id, wanted, reason } = input;
    const user = loaded.users.get(account_id, user_id);
    const kyc = loaded.kycs.get(account_id, user_id);
    if (!user || "problems" in wanted) return null;
    const { amount, token, chain, address } = wanted.value;
    const destination = findDestination(deps.index_key, loaded, command);
    const money = { account_id, user_id, token, chain };
    const senders = await listSenders(session, money, SENDERS_SHOWN);
    return {
      details: [
        ["User", await findUserName(session, deps.keyring, { account_id, user_id })],
        ["Amount", `${minorToText(amount, TOKEN_DIGITS)} ${token} on ${chain}`],
        ["To", `${address}, ${DESTINATIONS[destination]}`],
        ["Identity", user.kyc_status.replaceAll("_", " ")],
        ...(reason ? [["Reason", reason] as const] : []),
      ],
      // Who is on a list is not shown to the account; votes from before are void all the same.
      state: [kyc && isScreeningOpen(kyc) ? "in checks" : null],
      // Not bound: anybody may send tokens.
      context: [["Came from", senders.join(", ") || "Unknown senders"]],
    };
  };
}
