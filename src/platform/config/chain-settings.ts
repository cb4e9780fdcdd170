import { integer, minorUnits, optional } from "./setting-kinds.ts";

/** Which chains are real, and when what arrives on a chain is enough. */
export const CHAIN_SETTINGS = {
  chains_file: optional(
    "SLIPROAD_CHAINS_FILE",
    "JSON file with real EVM chains: the wallet's `xpub`, and for each chain its id, nodes, " +
      "finality and token contracts. In sandbox, chains that are not in it stay simulated. " +
      "Without the file there are no real ones. See docs/guides/chains.md.",
  ),
  deposit_tolerance: {
    name: "SLIPROAD_DEPOSIT_TOLERANCE",
    default_text: "0.01",
    meaning:
      "Maximum shortfall of a deposit, in tokens; never more than a tenth of the quote's " +
      "fees. The difference is posted to `short_deposits`.",
    read: minorUnits(/^\d{1,6}(\.\d{1,6})?$/, 6, "must be an amount of tokens such as 0.01"),
  },
  deposit_in_time_percent: integer(
    "SLIPROAD_DEPOSIT_IN_TIME_PERCENT",
    1,
    100,
    95,
    "How much of a deposit, in percent, must be mined before the quote expires. The rest may " +
      "follow within an hour; otherwise the payouts fail and the deposit stays in the balance.",
  ),
} as const;
