import type { Command } from "commander";
import { existsOpenRefund } from "../balances/refund-store.ts";
import { existsOpenOfframp } from "../offramps/store.ts";
import { findOpenOnramp } from "../onramps/store.ts";
import type { Session } from "../platform/db/database.ts";
import { isId } from "../platform/ids.ts";
import { StartupError } from "../platform/startup-error.ts";
import { eraseUser } from "../users/erase-user.ts";
import type { UserKey } from "../users/store.ts";
import { withCore } from "./context.ts";
import { byOperator, findAccountOf } from "./operator.ts";
import { type JsonOption, print } from "./output.ts";

export function addUserCommands(program: Command): void {
  const users = program.command("users").description("manage the users (payers) of an account");

  users
    .command("erase")
    .description("erase a person's data permanently; the ledger stays verifiable")
    .argument("<user_id>", "the user's id")
    .requiredOption("--reason <reason>", "the reason, for the audit log (no personal data)")
    .option("--account <name or id>", "whose user it is (default: the first account)")
    .action(async (user_id: string, options: JsonOption & { reason: string; account?: string }) => {
      await withCore(async (core) => {
        const { database, keyring, clock } = core;
        const { id: account_id } = await findAccountOf(core, options.account);
        const key = { account_id, user_id };
        const by = byOperator(options.reason);
        const outcome = isId(user_id)
          ? await eraseUser(database, keyring, key, by, clock.now(), hasOpenPayments)
          : "unknown";
        if (outcome === "unknown") {
          throw new StartupError(`There is no user ${user_id} in that account; check the id.`);
        }
        if (outcome === "busy") {
          throw new StartupError(
            `User ${user_id} has payments in progress or a balance; complete or refund them first.`,
          );
        }
      });
      print(options, { user: { id: user_id, erased: true } }, [`Erased user ${user_id}.`]);
    });
}

async function hasOpenPayments(session: Session, key: UserKey): Promise<boolean> {
  return (
    (await existsOpenOfframp(session, key)) ||
    (await existsOpenRefund(session, key)) ||
    (await findOpenOnramp(session, key))
  );
}
