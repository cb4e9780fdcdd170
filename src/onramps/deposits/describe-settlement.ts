import type { Detail } from "../../approvals/model.ts";
import type { Describe } from "../../approvals/with-approval.ts";
import { isToken, TOKEN_DIGITS } from "../../catalogue/chains.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import type { Session } from "../../platform/db/database.ts";
import type { Keyring } from "../../platform/encryption/keyring.ts";
import { minorToText } from "../../platform/money.ts";
import { findUserName } from "../../users/find-user-name.ts";
import { openAmount } from "../model.ts";
import { type OnrampRow, openOnramps } from "../store.ts";
import {
  type DepositRequest,
  findLoaded,
  findTarget,
  type LoadedDeposits,
} from "./settle-deposits.ts";

/** Who paid what, and whom it is delivered to. */
export function describeSettlement(keyring: Keyring): Describe<DepositRequest, LoadedDeposits> {
  return async (session, loaded, command) => {
    const deposit = findLoaded(loaded, command);
    if (!deposit) return null;
    const onramp = findTarget(loaded, deposit, command.input);
    const { bank_reference, status, reason, details, currency, returns } = deposit;
    return {
      details: [
        ["Deposit", describeMoney(openAmount(deposit), currency)],
        ["Bank reference", bank_reference],
        ["Payer", details.payer_name],
        ["Text", details.text],
        ...(onramp ? await describeOnramp(session, keyring, onramp) : []),
        ...(command.input.reason ? [["Reason", command.input.reason] as const] : []),
      ],
      state: [status, reason, returns, onramp?.status ?? null],
    };
  };
}

async function describeOnramp(
  session: Session,
  keyring: Keyring,
  row: OnrampRow,
): Promise<Detail[]> {
  const { id, deposit_amount, fiat_currency, destination_amount, crypto_currency } = row;
  const [opened] = await openOnramps(session, keyring, [row]);
  return [
    ["Onramp", `${id}, for ${describeMoney(deposit_amount, fiat_currency)}`],
    ["User", await findUserName(session, keyring, row)],
    ["Delivers", `${describeMoney(destination_amount, crypto_currency)} on ${row.crypto_rails}`],
    ["To", opened?.onramp.destination_address ?? "An erased user"],
  ];
}

export function describeMoney(amount: bigint, currency: string): string {
  const digits = isToken(currency) ? TOKEN_DIGITS : (minorDigits(currency) ?? 2);
  return `${minorToText(amount, digits)} ${currency}`;
}
