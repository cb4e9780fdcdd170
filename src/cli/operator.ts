import type { Account } from "../accounts/model.ts";
import { findAccount, findOperator } from "../accounts/store.ts";
import type { Core } from "../app/open-core.ts";
import { StartupError } from "../platform/startup-error.ts";

/** The account of a command: by its name or id, else the operator's. */
export async function findAccountOf({ database }: Core, wanted?: string): Promise<Account> {
  const account = wanted ? await findAccount(database, wanted) : await findOperator(database);
  if (account) return account;
  throw new StartupError(`There is no account ${wanted}; see sliproad accounts list.`);
}

/** The author of a change, as the audit log records it. */
export function byOperator(reason: string) {
  return { actor: "command line", reason } as const;
}
