import { combineBanks } from "../partners/bank/combine-banks.ts";
import { openFileBanks, readBanks } from "../partners/bank/file-bank/open.ts";
import type { BankPort } from "../partners/bank/port.ts";
import { createSandboxBank } from "../partners/bank/sandbox.ts";
import { combineChains } from "../partners/chain/combine-chains.ts";
import { readChains } from "../partners/chain/evm/read-chains.ts";
import type { ChainPort } from "../partners/chain/port.ts";
import { createSandboxChain } from "../partners/chain/sandbox.ts";
import { createHttpDocuments } from "../partners/documents/http.ts";
import type { DocumentSource } from "../partners/documents/port.ts";
import { createSandboxDocuments } from "../partners/documents/sandbox.ts";
import { createClamdScan } from "../partners/files/clamd.ts";
import type { FileScan } from "../partners/files/file-store.ts";
import type { IdentityPort } from "../partners/identity/port.ts";
import {
  createGuardedSender,
  type GuardedSender,
} from "../partners/outbound-http/guarded-sender.ts";
import { openFileLists } from "../partners/screening/file-lists.ts";
import { SCREENING_OFF } from "../partners/screening/off.ts";
import type { ScreeningPort } from "../partners/screening/port.ts";
import type { Config, Mode } from "../platform/config/config.ts";
import type { Module } from "../platform/module.ts";
import { StartupError } from "../platform/startup-error.ts";
import type { TaskLog } from "../platform/tasks/task-log.ts";
import { findRequestedOutcomes } from "../sandbox/find-requested-outcomes.ts";
import { isPrivate } from "./is-private.ts";
import type { Core } from "./open-core.ts";

export type Partners = {
  chain: ChainPort;
  bank: BankPort;
  /** Without one, our own reviewers decide. */
  identity?: IdentityPort;
  /** Reads real chains in the background. */
  openWatcher?: (log: TaskLog) => Module;
  /** Writes and reads the files of real banks. */
  openBanks?: (log: TaskLog) => Module;
};

/** The adapters of real banks and chains are not complete: live mode must not start with them. */
export function checkMode({ mode }: Config): void {
  if (mode !== "live") return;
  throw new StartupError(
    "Live mode does not start in this version, because the adapters of banks are not complete; " +
      "use SLIPROAD_MODE=sandbox.",
  );
}

export async function openPartners(core: Core): Promise<Partners> {
  const { config, database, keyring } = core;
  checkMode(config);
  const sandbox_bank = createSandboxBank(core, findRequestedOutcomes(database, keyring));
  const banks = openBanks(core, sandbox_bank);
  const simulated = createSandboxChain(core);
  if (config.chains_file === undefined) return { chain: simulated, ...banks };
  const settings = readChains(config.chains_file);
  // Imported here: without real chains nothing of it is needed.
  const [{ openEvm }, { openConfiguredSigner }] = await Promise.all([
    import("../partners/chain/evm/open.ts"),
    import("../partners/chain/evm/signer/open.ts"),
  ]);
  const { chain, openModule } = await openEvm(core, settings, () => openConfiguredSigner(config));
  return { chain: combineChains(chain, simulated), ...banks, openWatcher: openModule };
}

/** Real banks for what the operator's file names, and the sandbox's for the rest. */
function openBanks(core: Core, simulated: BankPort): Pick<Partners, "bank" | "openBanks"> {
  const { banks_file } = core.config;
  if (banks_file === undefined) return { bank: simulated };
  const operator_id = core.first_start.operator.id;
  const { bank, openModule } = openFileBanks({ ...core, operator_id }, readBanks(banks_file));
  return { bank: combineBanks(bank, simulated), openBanks: openModule };
}

/** The check of uploads for malware; undefined: there is none. */
export function openScan({ clamd }: Config): FileScan | undefined {
  if (clamd === undefined) return undefined;
  if (clamd.startsWith("/")) return createClamdScan({ path: clamd });
  const [host, port] = clamd.split(":");
  return createClamdScan({ host: host!, port: Number(port) });
}

/** The sanctions lists; a list that cannot be read stops the start. */
export async function openScreening(config: Config): Promise<ScreeningPort> {
  const { screening_lists, screening_possible_percent, screening_match_percent } = config;
  if (screening_lists.length === 0) return SCREENING_OFF;
  const thresholds = {
    possible_match: screening_possible_percent / 100,
    match: screening_match_percent / 100,
  };
  try {
    return await openFileLists(screening_lists, thresholds);
  } catch (error) {
    throw new StartupError(`SLIPROAD_SCREENING_LISTS: ${(error as Error).message}`);
  }
}

export function openSender(config: Config) {
  return createGuardedSender({
    allow_list: config.outbound_allow,
    // For trying the sandbox on one's own machine. Where others reach the service, their webhook
    // URLs must not reach other services on this machine.
    allow_loopback: isPrivate(config),
    proxy_url: config.outbound_proxy,
  });
}

/** The source of documents that are named by a URL. */
export function openDocuments(mode: Mode, sender: GuardedSender): DocumentSource {
  const internet = createHttpDocuments(sender);
  return mode === "sandbox" ? createSandboxDocuments(internet) : internet;
}
