import type { Session } from "../../../platform/db/database.ts";
import { findNextIndex } from "./address-store.ts";
import type { Nodes } from "./model.ts";
import { contractsOf } from "./transfer-logs.ts";
import { Misconfigured } from "./verify-nodes.ts";
import type { Wallet } from "./wallet.ts";

/** As many as foreign wallets look ahead. */
const LOOK_AHEAD = 20;

/**
 * Compares the next addresses that would be issued with the chain. One that holds tokens, or has
 * sent a transaction, was issued before: the database is older than its wallet, as after a restored
 * backup, and would give an address of an earlier quote to another one.
 */
export async function checkUnused(
  session: Session,
  { chain, rpcs }: Nodes,
  wallet: Wallet,
): Promise<void> {
  const rpc = rpcs[0]!;
  const next = await findNextIndex(session);
  const indexes = Array.from({ length: LOOK_AHEAD }, (_, at) => next + at);
  const used = await Promise.all(
    indexes.map(async (index) => {
      const address = wallet.addressAt(index);
      const found = await Promise.all([
        rpc.transactionCount(address),
        ...contractsOf(chain).map((token) => rpc.balanceOf(token.address, address, "latest")),
      ]);
      return found.some((amount) => amount > 0) ? [index] : [];
    }),
  );
  const last = used.flat().at(-1);
  // Another process may have issued it, and somebody paid at once.
  if (last === undefined || last < (await findNextIndex(session))) return;
  throw new Misconfigured(
    `the address of index ${last} was used on ${chain.name}, but this database has issued only ` +
      `those below ${next}. Is it a restored backup? Find out how many were issued since, and ` +
      "run sliproad wallet skip with a larger number; or use a new key",
  );
}
