import type { Core } from "../../app/open-core.ts";
import { readBanks, WRITTEN_WITHIN_MS } from "../../partners/bank/file-bank/open.ts";
import { countOpenItems } from "../../partners/bank/file-bank/open-item-store.ts";
import { listSetAside } from "../../partners/bank/file-bank/read-inbox.ts";
import { countUnproven } from "../../partners/bank/file-bank/store.ts";
import { countOverdueFiles } from "../../partners/bank/file-bank/unwritten-store.ts";
import type { Finding } from "./finding.ts";

const FILES_NAMED_MAX = 5;

/** Files that could not be written or read, and what no payment or deposit was found for. */
export async function checkBanks({ database, clock }: Core, banks_file: string): Promise<Finding> {
  const check = "banks";
  const { inbox, accounts } = readBanks(banks_file);
  const unproven = await countUnproven(database);
  if (unproven > 0) {
    const finding =
      `${unproven} answers of banks were not written by Sliproad: somebody writes to the ` +
      "database. They move no money; sliproad verify names them";
    return { check, ok: false, finding };
  }
  const before = new Date(clock.now().getTime() - WRITTEN_WITHIN_MS);
  const overdue = await countOverdueFiles(database, before);
  if (overdue > 0) {
    const finding = `${overdue} files are due and not written; see the log, and check the outbox`;
    return { check, ok: false, finding };
  }
  const set_aside = listSetAside(inbox);
  if (set_aside.length > 0) {
    const names = set_aside.slice(0, FILES_NAMED_MAX).join(", ");
    const finding =
      `${set_aside.length} files could not be read (${names}); sliproad banks list says why. ` +
      "Repair them, then run sliproad banks retry";
    return { check, ok: false, finding };
  }
  const { lines, statuses, corrections, returns } = await countOpenItems(database);
  if (lines + statuses + corrections + returns > 0) {
    const finding =
      `${lines} lines and ${statuses} rejections match no payment, ${corrections} corrections of ` +
      `payees' accounts and ${returns} deposits to send back by hand wait; see sliproad banks list`;
    return { check, ok: true, warning: true, finding };
  }
  const names = accounts.map(({ name }) => name).join(", ");
  return { check, ok: true, finding: `${names}: all files written and read` };
}
