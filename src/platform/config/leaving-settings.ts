import { optional } from "./setting-kinds.ts";

/** When money may leave. */
export const LEAVING_SETTINGS = {
  restore_check_file: optional(
    "SLIPROAD_RESTORE_CHECK_FILE",
    "Path of a small file that the worker creates and that counts what has left. If the database " +
      "counts less, it was restored from a backup, and all payouts are held until you release " +
      "them. Keep it on a lasting disk, outside the database and its backups. Live mode requires " +
      "it where a worker runs. See docs/guides/runbook.md.",
  ),
} as const;
