import { readFileSync } from "node:fs";
import { StartupError } from "../../../platform/startup-error.ts";
import { loadChains } from "./load-chains.ts";
import type { EvmSettings } from "./model.ts";

/** Reads the operator's file of real chains; an invalid one stops the program with a sentence. */
export function readChains(path: string): EvmSettings {
  try {
    return loadChains(readFileSync(path, "utf8"));
  } catch (error) {
    throw new StartupError(`SLIPROAD_CHAINS_FILE: ${(error as Error).message}`);
  }
}
