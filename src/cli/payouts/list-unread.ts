import type { Core } from "../../app/open-core.ts";
import { nextWindow } from "../../partners/bank/calendar/next-window.ts";
import type { FileBankAccount } from "../../partners/bank/file-bank/model.ts";
import { readBanks } from "../../partners/bank/file-bank/open.ts";
import { listStatements } from "../../partners/bank/file-bank/statements/statement-store.ts";
import { countUntoldLines } from "../../partners/bank/file-bank/waiting-store.ts";
import { readChains } from "../../partners/chain/evm/read-chains.ts";
import { listWatchedChains } from "../../partners/chain/evm/watch-store.ts";
import type { Session } from "../../platform/db/database.ts";
import { DAY_MS } from "../../platform/durations.ts";
import { judgeStatements } from "../../reconcile/banks/judge-statements.ts";

/** Backups are not older than this: statements that miss before it are not asked for. */
const BACKUP_AGE_MAX_MS = 31 * DAY_MS;

/**
 * What has not been read past the moment at which a restore was noticed, one sentence each. What
 * left after the backup is in the statements and on the chains: in a statement up to the day on
 * which the bank carries out the files that it could have by then.
 */
export async function listUnread({ config, database }: Core, held_at: Date): Promise<string[]> {
  const chains =
    config.chains_file === undefined ? [] : readChains(config.chains_file).chains.map(nameOf);
  const accounts = config.banks_file === undefined ? [] : readBanks(config.banks_file).accounts;
  const watched = await listWatchedChains(database);
  const unread = chains.flatMap((name) => {
    const scanned_at = watched.find(({ chain }) => chain === name)?.scanned_at;
    if (scanned_at && scanned_at >= held_at) return [];
    const until = scanned_at ? `only until ${scanned_at.toISOString()}` : "not at all";
    return [`${name} has been read ${until}.`];
  });
  for (const account of accounts) unread.push(...(await listMissing(database, account, held_at)));
  return unread;
}

async function listMissing(
  session: Session,
  { name, routes, booked_by }: FileBankAccount,
  held_at: Date,
): Promise<string[]> {
  const executed = routes.map(({ schedule }) => nextWindow(schedule, held_at).execution_date);
  const day = [dayOf(held_at), ...executed].sort().at(-1)!;
  const since = dayOf(new Date(held_at.getTime() - BACKUP_AGE_MAX_MS));
  const pages = Map.groupBy(await listStatements(session, name), ({ currency }) => currency);
  const judged = [...pages.values()].map(judgeStatements);
  const last = judged.flatMap(({ statements }) => statements.map((one) => one.closed_on)).sort();
  const missing: string[] = [];
  if ((last.at(-1) ?? "") < day) {
    const after = last.length > 0 ? ` after ${last.at(-1)}` : "";
    missing.push(
      `No statement of ${name}${after} has been read; one of ${day} or later is needed.`,
    );
  }
  for (const { kind, closed_on } of judged.flatMap(({ notes }) => notes)) {
    if (closed_on === null || closed_on < since) continue;
    if (kind === "missing") missing.push(`A statement of ${name} before ${closed_on} is missing.`);
    if (kind === "incomplete") missing.push(`A page of ${name} of ${closed_on} is missing.`);
  }
  // Their lines are read from other files, which can be late.
  const untold = booked_by === "camt.053" ? 0 : await countUntoldLines(session, name, since);
  if (untold > 0) {
    const lines = untold === 1 ? "1 line" : `${untold} lines`;
    missing.push(`${booked_by} files of ${name} have not told ${lines} of its statements.`);
  }
  return missing;
}

function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

function nameOf({ name }: { name: string }): string {
  return name;
}
