import type { Core } from "../../app/open-core.ts";
import { readBanks } from "../../partners/bank/file-bank/open.ts";
import { listLastBooked } from "../../partners/bank/file-bank/waiting-store.ts";
import { readChains } from "../../partners/chain/evm/read-chains.ts";
import { listWatchedChains } from "../../partners/chain/evm/watch-store.ts";

/**
 * What has not been read past the moment at which a restore was noticed, one sentence each. What
 * left after the backup is in the statements and on the chains up to then.
 */
export async function listUnread({ config, database }: Core, held_at: Date): Promise<string[]> {
  const chains =
    config.chains_file === undefined ? [] : readChains(config.chains_file).chains.map(nameOf);
  const accounts =
    config.banks_file === undefined ? [] : readBanks(config.banks_file).accounts.map(nameOf);
  const [watched, booked] = [await listWatchedChains(database), await listLastBooked(database)];
  const day = held_at.toISOString().slice(0, 10);
  return [
    ...chains.flatMap((name) => {
      const scanned_at = watched.find(({ chain }) => chain === name)?.scanned_at;
      if (scanned_at && scanned_at >= held_at) return [];
      const until = scanned_at ? `only until ${scanned_at.toISOString()}` : "not at all";
      return [`${name} has been read ${until}.`];
    }),
    ...accounts.flatMap((name) => {
      const last = booked.find(({ bank_account }) => bank_account === name)?.booked_on;
      if (last && last >= day) return [];
      const since = last ? ` after ${last}` : "";
      return [`No statement of ${name}${since} has been read; one of ${day} or later is needed.`];
    }),
  ];
}

function nameOf({ name }: { name: string }): string {
  return name;
}
