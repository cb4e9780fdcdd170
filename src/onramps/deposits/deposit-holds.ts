import type { AccountMap } from "../../platform/account-map.ts";
import type { Command } from "../../platform/commands/use-case.ts";
import type { Problem } from "../../platform/errors.ts";
import { giveBackProblems, holdProblems, isScreeningOpen } from "../../users/clearance.ts";
import type { Kyc } from "../../users/model.ts";
import type { FiatDeposit } from "../model.ts";
import type { OnrampRow } from "../store.ts";

type Loaded = {
  deposits: ReadonlyMap<string, FiatDeposit>;
  onramps: ReadonlyMap<string, OnrampRow>;
  kycs: AccountMap<Kyc>;
};

const FIELD = "deposit_id";

/**
 * The onramps whose money a bank line is: what it names, and what other parts of the same line
 * name. The excess of a deposit names none itself.
 */
function listNamed({ deposits, onramps }: Loaded, deposit: FiatDeposit): OnrampRow[] {
  const ids = [...deposits.values()]
    .filter(
      (line) =>
        line.account_id === deposit.account_id &&
        line.bank_account === deposit.bank_account &&
        line.bank_reference === deposit.bank_reference,
    )
    .flatMap(({ onramp_id }) => onramp_id ?? []);
  return [...new Set(ids)].flatMap((id) => onramps.get(id) ?? []);
}

function kycsOf({ kycs }: Loaded, onramps: readonly OnrampRow[]): Kyc[] {
  return onramps.flatMap(({ account_id, user_id }) => kycs.get(account_id, user_id) ?? []);
}

/** Nothing of a user who is held goes back to a bank either. */
export function returnHolds(
  loaded: Loaded,
  deposit: FiatDeposit,
  command: Command<unknown>,
): Problem[] {
  const held = kycsOf(loaded, listNamed(loaded, deposit));
  return held.flatMap((kyc) => giveBackProblems(kyc, command, FIELD)).slice(0, 1);
}

/** What names a user who is held does not pay for somebody else; their own onramp holds it. */
export function matchHolds(loaded: Loaded, deposit: FiatDeposit, target: OnrampRow): Problem[] {
  const others = listNamed(loaded, deposit).filter(({ user_id }) => user_id !== target.user_id);
  return kycsOf(loaded, others)
    .flatMap((kyc) => holdProblems(kyc, FIELD))
    .slice(0, 1);
}

/** Whether a user whose money it is, is being checked. */
export function isAnyInChecks(loaded: Loaded, deposit: FiatDeposit): boolean {
  return kycsOf(loaded, listNamed(loaded, deposit)).some(isScreeningOpen);
}
