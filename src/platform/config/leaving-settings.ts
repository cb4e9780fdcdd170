import { minorUnits, optional } from "./setting-kinds.ts";

/** When money may leave. */
export const LEAVING_SETTINGS = {
  restore_check_file: optional(
    "SLIPROAD_RESTORE_CHECK_FILE",
    "Path of a small file that the worker creates. It counts what has left, and names the block " +
      "that was sealed last. If the database counts less or does not have that block, it was " +
      "restored from a backup, and all payouts are held until you release them. Keep it on a " +
      "lasting disk, outside the database and its backups. Live mode requires it where a worker " +
      "runs. See docs/guides/runbook.md.",
  ),
  canary_usd: optional(
    "SLIPROAD_CANARY_USD",
    "Maximum, in usd, that a bank gets by payouts of a currency and rail as long as it has not " +
      "booked one: what is more waits until then. `--canary` of `sliproad start` and " +
      "`sliproad worker` sets it too. Default: no maximum.",
    minorUnits(/^\d{1,13}(\.\d{1,2})?$/, 2, "must be an amount in usd such as 25 or 2.50"),
  ),
} as const;
