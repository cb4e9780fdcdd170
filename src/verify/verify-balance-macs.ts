import { isSigned } from "../ledger/balance-mac.ts";
import type { StoredBalance } from "../ledger/store.ts";
import type { Check } from "./checks.ts";

const PAGE_ROWS = 500;

/** Every stored balance was written by this service. Another check compares it with its lines. */
export const verifyBalanceMacs: Check = async (session, account_id) => {
  for (let above = ["", ""]; ; ) {
    const balances = await session.query<StoredBalance>(
      `select account_id, ledger_account, currency, balance, last_entry_id, mac
       from ledger_balances where account_id = $1 and (ledger_account, currency) > ($2, $3)
       order by ledger_account, currency limit $4`,
      [account_id, ...above, PAGE_ROWS],
    );
    const last = balances.at(-1);
    if (!last) return null;
    const forged = balances.find((balance) => !isSigned(session, balance));
    if (forged) {
      const { ledger_account, currency } = forged;
      const name = `the balance of ${ledger_account} in ${currency} of account ${account_id}`;
      return `${name} was not written by this service`;
    }
    above = [last.ledger_account, last.currency];
  }
};
