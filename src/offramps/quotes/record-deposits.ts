import {
  type Deposit,
  type DepositAddress,
  findDepositAddresses,
  insertCryptoDeposits,
} from "../../balances/deposit-store.ts";
import type { Chain } from "../../catalogue/chains.ts";
import { postEntries } from "../../ledger/post.ts";
import { depositFinal } from "../../ledger/postings.ts";
import type { ChainPort, Transfer } from "../../partners/chain/port.ts";
import { readOn } from "../../partners/read-on.ts";
import type { Database } from "../../platform/db/database.ts";
import { newId } from "../../platform/ids.ts";
import { enqueueTasks, taskNow } from "../../platform/tasks/tasks.ts";
import { FUND_QUOTE_TASK } from "../task-kinds.ts";
import { lockQuotes, updateProgress } from "./store.ts";

const TRANSFERS_PER_READ_MAX = 500;

/** Reads these chains, by default all, from their cursors and credits transfers to us. */
export async function recordDeposits(
  database: Database,
  chain: ChainPort,
  now: Date,
  names: readonly Chain[] = chain.chains,
): Promise<void> {
  for (const name of names) {
    const list = async (cursor: string | null) => {
      const { transfers, ...read } = await chain.listTransfers(
        name,
        cursor,
        TRANSFERS_PER_READ_MAX,
      );
      return { items: transfers, ...read };
    };
    const take = (transfers: Transfer[]) => creditTransfers(database, transfers, now);
    await readOn(database, `chain:${name}`, list, take, now);
  }
}

async function creditTransfers(
  database: Database,
  transfers: readonly Transfer[],
  now: Date,
): Promise<void> {
  const addresses = await findDepositAddresses(database, transfers);
  const owners = new Map(addresses.map((owner) => [`${owner.chain} ${owner.address}`, owner]));
  const by_account = Map.groupBy(
    transfers.flatMap((transfer) => {
      const owner = owners.get(`${transfer.chain} ${transfer.address}`);
      // Chains carry transfers of zero, sent as spam; there is nothing to credit.
      return owner && transfer.amount > 0n ? [{ transfer, owner }] : [];
    }),
    ({ owner }) => owner.account_id,
  );
  for (const entries of by_account.values()) await creditAccount(database, entries, now);
}

/** Credits the owner of the address, whatever the quote's state and whichever quote names it. */
function creditAccount(
  database: Database,
  entries: readonly { transfer: Transfer; owner: DepositAddress }[],
  now: Date,
): Promise<void> {
  return database.transaction(async (tx) => {
    const keys = entries.map(({ owner }) => ({ account_id: owner.account_id, id: owner.quote_id }));
    const quotes = new Map((await lockQuotes(tx, keys)).map((quote) => [quote.id, quote]));
    const deposits = entries.map(({ transfer, owner }): Deposit => {
      const { address: _, ...facts } = transfer;
      const quote = quotes.get(owner.quote_id)!;
      return {
        ...facts,
        account_id: owner.account_id,
        id: newId(now),
        user_id: quote.user_id,
        quote_id: quote.id,
        created_at: now,
      };
    });
    const credited = await insertCryptoDeposits(tx, deposits);
    for (const deposit of credited) {
      const quote = quotes.get(deposit.quote_id)!;
      if (deposit.token !== quote.deposit_token) continue;
      quote.received += deposit.amount;
      quote.updated_at = now;
    }
    const changed = new Set(credited.map((deposit) => deposit.quote_id));
    for (const id of changed) updateProgress(tx, quotes.get(id)!);
    postEntries(tx, credited.map(depositFinal), now);
    enqueueTasks(
      tx,
      [...changed].map((quote_id) =>
        taskNow(
          FUND_QUOTE_TASK,
          { account_id: quotes.get(quote_id)!.account_id, id: quote_id },
          now,
        ),
      ),
    );
  });
}
