import { optional } from "./setting-kinds.ts";

/** Which banks are real. */
export const BANK_SETTINGS = {
  banks_file: optional(
    "SLIPROAD_BANKS_FILE",
    "JSON file with accounts at banks that take files: for each account its number, its bank, " +
      "the directories of files, and the schemes with their cut-off times. In sandbox, what no " +
      "account pays stays simulated. See docs/guides/banks.md.",
  ),
} as const;
