import { recordAudit } from "../../accounts/audit.ts";
import { isSaidHeld, PAYOUTS_RECORD } from "../../accounts/audited/payout-holds.ts";
import { findOperator } from "../../accounts/store.ts";
import type { Core } from "../../app/open-core.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { listWaitingFiles } from "../../partners/bank/file-bank/waiting-store.ts";
import { listOpenSends } from "../../partners/chain/evm/send/send-store.ts";
import {
  insertHold,
  listOpenHolds,
  lockLeavingCount,
  type StoredHold,
  updateLeavingCount,
  updateReleased,
} from "../../partners/hold/hold-store.ts";
import type { Hold } from "../../partners/leaving.ts";
import { minorToText } from "../../platform/money.ts";
import { StartupError } from "../../platform/startup-error.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { byOperator } from "../operator.ts";
import { listUnread } from "./list-unread.ts";

type WaitingFile = {
  bank_account: string;
  scheme: string;
  message_id: string;
  payments: number;
  sums: { amount: string; currency: string }[];
};

export type PayoutStatus = {
  held: boolean;
  holds: Hold[];
  /** After a restore: what has to be read before the release. */
  unread: string[];
  waiting: { bank_files: WaitingFile[]; sends: number };
};

const SENDS_COUNTED_MAX = 1_000;

export async function readStatus(core: Core): Promise<PayoutStatus> {
  const { database } = core;
  const holds: readonly StoredHold[] = await listOpenHolds(database);
  const { id: operator_id } = (await findOperator(database))!;
  const rows = Map.groupBy(await listWaitingFiles(database), ({ message_id }) => message_id);
  const bank_files = [...rows.values()].map((same): WaitingFile => {
    const { bank_account, scheme, message_id } = same[0]!;
    const payments = same.reduce((sum, row) => sum + row.payments, 0);
    const sums = same.map(({ amount, currency }) => {
      return { amount: minorToText(amount, minorDigits(currency)!), currency };
    });
    return { bank_account, scheme, message_id, payments, sums };
  });
  const sends = (await listOpenSends(database, SENDS_COUNTED_MAX)).length;
  return {
    held: holds.length > 0 || (await isSaidHeld(database, operator_id)),
    holds: holds.map(({ kind, reason, held_at }) => ({ kind, reason, held_at })),
    unread: await unreadOf(core, holds),
    waiting: { bank_files, sends },
  };
}

/** Whether payouts were not on hold by a person before. */
export async function holdAll({ database, clock }: Core, reason: string): Promise<boolean> {
  const { id: account_id } = (await findOperator(database))!;
  return database.transaction(async (tx) => {
    // Whoever counts after this sees the hold.
    await lockLeavingCount(tx);
    const hold = { kind: "operator", reason, file_count: null } as const;
    const is_new = await insertHold(tx, hold, realTime(clock));
    const act = {
      account_id,
      ...byOperator(reason),
      action: "payouts.hold" as const,
      record: PAYOUTS_RECORD,
    };
    if (is_new) recordAudit(tx, act, clock.now());
    return is_new;
  });
}

/** Releases every hold; after a restore only once what left before it can be known. */
export async function releaseAll(
  core: Core,
  { reason, anyway }: { reason: string; anyway: boolean },
): Promise<{ was_held: boolean }> {
  const { database, clock } = core;
  const { id: account_id } = (await findOperator(database))!;
  return database.transaction(async (tx) => {
    await lockLeavingCount(tx);
    const holds = await listOpenHolds(tx);
    if (holds.length === 0 && !(await isSaidHeld(tx, account_id))) return { was_held: false };
    const unread = await unreadOf(core, holds);
    if (unread.length > 0 && !anyway) {
      throw new StartupError(
        `Payouts stay on hold: ${unread.join(" ")} What was paid after the backup could be paid ` +
          "again. Add --anyway if you know that nothing was.",
      );
    }
    const kinds = holds.map(({ kind }) => kind);
    await updateReleased(tx, reason, realTime(clock));
    // Past the file, which counted what this database does not know.
    const file_count = holds.find(({ kind }) => kind === "restore")?.file_count ?? null;
    if (file_count !== null) await updateLeavingCount(tx, file_count + 1n);
    const detail = { kinds, unread };
    const act = {
      account_id,
      ...byOperator(reason),
      action: "payouts.release" as const,
      record: PAYOUTS_RECORD,
    };
    recordAudit(tx, { ...act, detail }, clock.now());
    return { was_held: true };
  });
}

async function unreadOf(core: Core, holds: readonly StoredHold[]): Promise<string[]> {
  const restored = holds.find(({ kind }) => kind === "restore");
  return restored ? listUnread(core, restored.held_at) : [];
}
